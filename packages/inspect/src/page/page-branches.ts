import type { Branch, TokenSpan } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { type BranchTokens, readBranchTokens, splitChildren } from '../facts/branch-tokens.js';
import { logprobsOf } from '../facts/call-facts.js';
import { forkReasons } from '@agentjet/context-tracker';
import { escapeHtml } from './html-text.js';
import { formatInteger, formatRanges } from '../facts/number-text.js';
import { brightnessOf } from '../facts/brightness.js';

/** Renders the token tree as nested, collapsible branches, and collects the ids that the script looks up. */
export class PageBranches {
  readonly html: readonly string[];
  readonly #data: { start: number; ids: readonly number[] }[] = [];
  readonly #episode: InspectedEpisode;

  constructor(episode: InspectedEpisode) {
    this.#episode = episode;
    this.html = episode.tree.branches.flatMap((root) => [...this.#renderChain(root)]);
  }

  /** The branches in the order of their numbers in the page. */
  get data(): readonly { readonly start: number; readonly ids: readonly number[] }[] {
    return this.#data;
  }

  *#renderChain(first: Branch): Generator<string> {
    for (let branch: Branch | undefined = first; branch !== undefined; ) {
      const { side, main }: ReturnType<typeof splitChildren> = splitChildren(branch);
      yield* this.#renderBranch(branch);
      for (const child of side) {
        yield `<details class="side" open><summary>side branch <small>${formatInteger(child.size)} tokens, ${countRows(child)}</small></summary>`;
        yield* this.#renderChain(child);
        yield '</details>';
      }
      branch = main;
    }
  }

  *#renderBranch(branch: Branch): Generator<string> {
    const { start, end, rows, begun } = branch;
    const tokens = readBranchTokens(this.#episode, branch);
    const number = this.#data.push({ start, ids: tokens.ids }) - 1;
    const calls = begun.length === 0 ? '' : `, ${begun.length === 1 ? 'call' : 'calls'} ${formatRanges(begun, '#')}`;
    yield `<details class="branch" open><summary>tokens ${start}-${end - 1} <small>(${formatInteger(end - start)}), ${rows.length === 1 ? 'row' : 'rows'} ${formatRanges(rows)}${calls}</small></summary>`;
    yield* this.#renderForks(branch);
    for (const span of branch.spans)
      yield this.#renderSpan(span, number, tokens.texts.slice(span.start - start, span.end - start));
    yield '</details>';
  }

  *#renderForks({ begun }: Branch): Generator<string> {
    for (const index of begun) {
      const turn = this.#episode.tree.turns[index];
      if (turn?.fork)
        yield `<div class="fork">#${index} ${escapeHtml(turn.agentName)} forked, ${turn.fork}: ${forkReasons[turn.fork]}</div>`;
    }
  }

  #renderSpan(span: TokenSpan, branch: number, texts: BranchTokens['texts']): string {
    const { start, author, name, turns } = span;
    const written = author === 'generated' ? formatRanges(turns, '#') : author;
    const label = escapeHtml([written, name ?? this.#agentsOf(span)].join(' ').trim());
    const sampled = author === 'generated' ? ` data-turns="${turns.join(' ')}"` : '';
    const logprobs = this.#logprobsOf(span);
    const tokens = texts
      .map((text, at) => renderToken(author === 'template' ? text.replaceAll('\n', '⏎') : text, logprobs[at]))
      .join('');
    return `<div class="span ${author}" data-branch="${branch}" data-start="${start}" data-author="${label}"${sampled}><small>${start}</small><b>${label}</b><code>${tokens}</code></div>`;
  }

  #agentsOf({ turns }: TokenSpan): string {
    return [...new Set(turns.map((index) => this.#episode.tree.turns[index]?.agentName ?? ''))].join(' ');
  }

  /** The logprobs of the first turn that sampled the span. */
  #logprobsOf({ start, end, turns: [index = -1] }: TokenSpan): readonly number[] {
    const turn = this.#episode.tree.turns[index];
    return turn === undefined
      ? []
      : logprobsOf(this.#episode.record.samples, turn).slice(start - turn.promptTokens, end - turn.promptTokens);
  }
}

/** A token that ends within a character has no text. */
function renderToken(text: string, logprob: number | undefined): string {
  const shown = text === '' ? '▫' : escapeHtml(text);
  return logprob === undefined ? `<i>${shown}</i>` : `<i class="p${brightnessOf(logprob)}">${shown}</i>`;
}

function countRows({ rows }: Branch): string {
  return rows.length === 1 ? `row ${rows[0]}` : `${rows.length} rows`;
}
