import { makeVisible } from '@agentjet/core/text';
import type { Branch, TokenSpan } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { type BranchTokens, readBranchTokens, splitChildren } from '../facts/branch-tokens.js';
import { logprobsOf } from '../facts/call-facts.js';
import { forkReasons } from '@agentjet/context-tracker';
import { formatInteger, formatRanges } from '../facts/number-text.js';
import type { Palette } from './palette.js';
import { labelSpan, labelWidthOf } from '../facts/span-label.js';

/**
 * Formats the token tree, line by line. The child with most of the following tokens continues at the same indentation,
 * so a conversation with hundreds of forks remains readable.
 */
export function* formatTree(episode: InspectedEpisode, palette: Palette): Generator<string> {
  const printer: Printer = { episode, palette, labelWidth: labelWidthOf(episode) };
  for (const root of episode.tree.branches) {
    yield '';
    yield* formatChain(root, '', printer);
  }
}

type Printer = { readonly episode: InspectedEpisode; readonly palette: Palette; readonly labelWidth: number };

function* formatChain(first: Branch, indent: string, printer: Printer): Generator<string> {
  for (let branch: Branch | undefined = first; branch !== undefined; ) {
    const { side, main }: ReturnType<typeof splitChildren> = splitChildren(branch);
    const isOpen = main !== undefined;
    yield `${indent}● ${formatHeading(branch, printer)}`;
    yield* withIndent(formatForks(branch, printer), `${indent}${isOpen ? '│' : ' '} `);
    yield* withIndent(formatSpans(branch, printer), `${indent}${isOpen ? '│' : ' '} `);
    for (const child of side) {
      yield `${indent}├─╮`;
      yield* formatChain(child, `${indent}│ `, printer);
    }
    branch = main;
  }
}

function* withIndent(lines: Iterable<string>, indent: string): Generator<string> {
  for (const line of lines) yield `${indent}${line}`.trimEnd();
}

function formatHeading({ start, end, rows, begun }: Branch, { palette }: Printer): string {
  const calls = begun.length === 0 ? '' : `, ${begun.length === 1 ? 'call' : 'calls'} ${formatRanges(begun, '#')}`;
  return palette.tone(
    'title',
    `tokens ${start}-${end - 1} (${formatInteger(end - start)}), ${rows.length === 1 ? 'row' : 'rows'} ${formatRanges(rows)}${calls}`,
  );
}

/** Says why calls forked in this branch. */
function* formatForks({ begun }: Branch, { episode: { tree }, palette }: Printer): Generator<string> {
  for (const index of begun) {
    const turn = tree.turns[index];
    if (turn?.fork)
      yield palette.tone(
        'warning',
        `#${index} ${makeVisible(turn.agentName)} forked, ${turn.fork}: ${forkReasons[turn.fork]}`,
      );
  }
}

function* formatSpans(branch: Branch, printer: Printer): Generator<string> {
  const tokens = readBranchTokens(printer.episode, branch);
  for (const span of branch.spans) {
    const [first = '', ...more] = textOf(span, { branch, tokens, printer }).split('\n');
    yield `${printer.palette.tone('faint', String(span.start).padStart(6))}  ${labelOf(span, printer)}  ${first}`;
    yield* withIndent(more, ' '.repeat(printer.labelWidth + 10));
  }
}

function labelOf(span: TokenSpan, { episode: { tree }, palette, labelWidth }: Printer): string {
  const label = makeVisible(labelSpan(span, tree)).padEnd(labelWidth);
  return span.author === 'generated' ? palette.tone('title', label) : palette.tone(span.author, label);
}

type SpanText = { readonly branch: Branch; readonly tokens: BranchTokens; readonly printer: Printer };

function textOf(span: TokenSpan, { branch, tokens, printer }: SpanText): string {
  const { palette } = printer;
  const texts = tokens.texts.slice(span.start - branch.start, span.end - branch.start);
  if (span.author === 'generated') return generatedText(span, texts, printer);
  const text = makeVisible(texts.join(''));
  if (span.author === 'template') return palette.tone('template', text.replaceAll('\n', '⏎'));
  return text.replace(/\n+$/, (ends) => '⏎'.repeat(ends.length)); // a token may hold the end of a message and the template's text after it
}

/** Puts the text in brackets, followed by the logprobs of each turn that sampled it, as sum and mean. */
function generatedText(span: TokenSpan, texts: readonly string[], { palette, episode }: Printer): string {
  const { record, tree } = episode;
  const sampled = span.turns.flatMap((index) => {
    const turn = tree.turns[index];
    return turn === undefined
      ? []
      : [logprobsOf(record.samples, turn).slice(span.start - turn.promptTokens, span.end - turn.promptTokens)];
  });
  const text = texts
    .map((token, at) => byLine(makeVisible(token), (line) => palette.generated(sampled[0]?.[at] ?? 0, line)))
    .join('');
  const sums = sampled.map((logprobs) => logprobs.reduce((sum, logprob) => sum + logprob, 0));
  const notes = sums.map((sum) => `logprob ${sum.toFixed(2)}, mean ${(sum / (span.end - span.start)).toFixed(3)}`);
  return `${palette.tone('faint', '⟦')}${text}${palette.tone('faint', `⟧ ${notes.join('; ')}`)}`;
}

function byLine(text: string, style: (line: string) => string): string {
  return text.split('\n').map(style).join('\n');
}
