import { makeVisible } from '@agentjet/core/text';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { callColumns, type CallColumn } from '../facts/call-facts.js';
import { describeEpisode, type Fact } from '../facts/episode-facts.js';
import { formatTree } from './format-tree.js';
import type { Palette } from './palette.js';

/** Formats an episode for a terminal: its facts, its calls and its token tree. */
export function* formatEpisode(episode: InspectedEpisode, palette: Palette): Generator<string> {
  yield* formatFacts(describeEpisode(episode), palette);
  yield '';
  yield* formatCalls(episode, palette);
  yield '';
  yield palette.tone(
    'faint',
    'The tree shows every token once. Tokens between ⟦ ⟧ were sampled and trained; likelier ones are brighter. Numbers are positions in the row. ⏎ is a line end that the template wrote.',
  );
  yield* formatTree(episode, palette);
}

function formatFacts(facts: readonly Fact[], palette: Palette): readonly string[] {
  const width = Math.max(...facts.map(([label]) => label.length));
  return facts.map(([label, value]) => `${palette.tone('faint', label.padEnd(width))}  ${makeVisible(value)}`);
}

function formatCalls(episode: InspectedEpisode, palette: Palette): readonly string[] {
  const { turns } = episode.tree;
  const isFilled = ({ valueOf }: CallColumn): boolean => turns.some((turn) => valueOf(turn) !== '');
  const columns = callColumns(episode).filter(isFilled);
  const cells = [
    columns.map(({ title }) => title),
    ...turns.map((turn) => columns.map(({ valueOf }) => makeVisible(valueOf(turn)))),
  ];
  const widths = columns.map((_, column) => cells.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0));
  const align = (cell: string, column: number): string =>
    columns[column]?.isText ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const lines = cells.map((row) => row.map(align).join('  ').trimEnd());
  return lines.map((line, at) => (at === 0 ? palette.tone('faint', line) : line));
}
