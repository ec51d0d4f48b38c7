import { makeVisible } from '@agentjet/core/text';
import type { EpisodeSummary } from '../episode/summarize-episodes.js';

/**
 * Formats the episodes of a run as a table for a terminal: a heading, then a line per episode. It yields nothing if
 * there are none.
 */
export async function* formatEpisodeList(episodes: AsyncIterable<EpisodeSummary>): AsyncGenerator<string> {
  let numListed = 0;
  for await (const episode of episodes) {
    if (numListed++ === 0) yield 'step  reward  tokens  trained  samples  status     episode';
    yield makeVisible(formatColumns(episode).join('  '));
  }
}

function formatColumns(episode: EpisodeSummary): readonly string[] {
  return [
    String(episode.step).padStart(4),
    (episode.reward?.toFixed(3) ?? '-').padStart(6),
    String(episode.generatedTokens).padStart(6),
    String(episode.trainedTokens ?? '-').padStart(7),
    String(episode.samples).padStart(7),
    episode.status.padEnd(9),
    episode.episodeId,
  ];
}
