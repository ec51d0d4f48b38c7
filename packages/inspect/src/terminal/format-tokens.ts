import { makeVisible } from '@agentjet/core/text';
import type { Branch } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { readBranchTokens } from '../facts/branch-tokens.js';
import { logprobsOf } from '../facts/call-facts.js';
import { describeEpisode } from '../facts/episode-facts.js';
import { formatRanges } from '../facts/number-text.js';
import { labelSpan, labelWidthOf } from '../facts/span-label.js';

/** Formats an episode as a table with one line per token of its tree, for close reading and for grep. */
export function* formatTokens(episode: InspectedEpisode): Generator<string> {
  for (const [label, value] of describeEpisode(episode)) yield `${label}  ${makeVisible(value)}`;
  yield '';
  const width = labelWidthOf(episode);
  yield `${'place'.padStart(6)}  ${'id'.padStart(6)}  ${'author'.padEnd(width)}  mask  ${'logprob'.padStart(8)}  text`;
  for (const root of episode.tree.branches)
    yield* formatBranch(root, {
      episode,
      width,
      isForked: episode.tree.branches.length > 1 || root.children.length > 0,
    });
}

type Printing = { readonly episode: InspectedEpisode; readonly width: number; readonly isForked: boolean };

function* formatBranch(branch: Branch, printing: Printing): Generator<string> {
  if (printing.isForked)
    yield `tokens ${branch.start}-${branch.end - 1} of ${branch.rows.length === 1 ? 'row' : 'rows'} ${formatRanges(branch.rows)}`;
  yield* formatLines(branch, printing);
  for (const child of branch.children) yield* formatBranch(child, printing);
}

function* formatLines(branch: Branch, { episode, width }: Printing): Generator<string> {
  const { ids, texts } = readBranchTokens(episode, branch);
  for (const span of branch.spans) {
    const author = makeVisible(labelSpan(span, episode.tree)).padEnd(width);
    const mask = span.author === 'generated' ? 1 : 0;
    for (let place = span.start; place < span.end; place++) {
      const at = place - branch.start;
      const logprobs = span.turns.map((turn) => logprobAt(episode, turn, place)).join('; ');
      yield `${String(place).padStart(6)}  ${String(ids[at]).padStart(6)}  ${author}  ${String(mask).padStart(4)}  ${logprobs.padStart(8)}  ${makeVisible(JSON.stringify(texts[at] ?? ''))}`;
    }
  }
}

function logprobAt({ record, tree }: InspectedEpisode, turnIndex: number, place: number): string {
  const turn = tree.turns[turnIndex];
  return turn === undefined ? '-' : (logprobsOf(record.samples, turn)[place - turn.promptTokens]?.toFixed(4) ?? '-');
}
