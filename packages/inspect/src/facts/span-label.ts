import type { TokenSpan } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';
import { formatRanges } from './number-text.js';

/** The author of a span. For sampled tokens, it lists the calls and their agents. */
export function labelSpan({ author, name, turns }: TokenSpan, { turns: all }: InspectedEpisode['tree']): string {
  if (author !== 'generated') return name === undefined ? author : `${author} ${name}`;
  const names = new Set(turns.map((index) => all[index]?.agentName ?? ''));
  return `${formatRanges(turns, '#')} ${[...names].join(' ')}`;
}

/** The width of the labels of an episode in columns, at most 28. */
export function labelWidthOf({ tree }: InspectedEpisode): number {
  const labels = tree.turns.flatMap(({ index, agentName, parts }) => [
    `#${index} ${agentName}`,
    ...parts.map(({ author, name = '' }) => `${author} ${name}`),
  ]);
  return Math.min(
    labels.reduce((width, { length }) => Math.max(width, length), 'template'.length),
    28,
  );
}
