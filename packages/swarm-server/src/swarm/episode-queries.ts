import type { LedgerEpisode } from '@agentjet/ledger';
import type { EpisodeAnswer, EpisodesAnswer } from '@agentjet/swarm-wire';
import type { SwarmContext } from './swarm-context.js';
import { goneError, partsOf, stepOf, toOptional, type EpisodesQuery } from './episode-answers.js';
import { isAfter, takePage } from './take-page.js';

type OfEpisodes = Pick<SwarmContext, 'ledger' | 'lengths'>;

/**
 * Lists the episodes that the ledger keeps, in the order of their claims. `after` is the id of the last episode of the
 * previous page. If it is unknown, the list starts at the beginning.
 */
export async function listEpisodes(
  context: OfEpisodes,
  { after, limit, state }: EpisodesQuery,
): Promise<EpisodesAnswer> {
  const { ledger } = context;
  const { episodes } = ledger.state;
  const isPast = isAfter(after, (id) => episodes.has(id));
  const passes = (episode: Readonly<LedgerEpisode>): boolean =>
    isPast(episode.episodeId) && (state === undefined || episode.state === state);
  const all = state === 'running' && after === undefined ? ledger.running() : episodes.values();
  const { page, hasMore } = await takePage(all, { passes, limit });
  const last = page.at(-1)?.episodeId;
  return {
    episodes: page.map(({ episodeId }) => findEpisode(context, episodeId)),
    ...(hasMore && last !== undefined && { next: last }),
  };
}

/** Returns an episode of any age. Throws WireError `gone` if it is unknown. */
export function findEpisode({ ledger: { state }, lengths }: OfEpisodes, episodeId: string): EpisodeAnswer {
  const old = state.finished.episode(episodeId);
  const parts = partsOf(state, episodeId);
  const more = parts === undefined ? {} : { parts };
  if (old !== undefined) {
    const { fate, reason, step } = old;
    return { episode_id: episodeId, state: fate, ...toOptional({ reason, step }), ...more };
  }
  const episode = state.episodes.get(episodeId);
  if (episode === undefined) throw goneError(state, episodeId);
  const { groupId, place, attempt, client, reward, reason } = episode;
  const step = stepOf(state, episode);
  const isRunning = episode.state === 'running';
  const position = {
    group_id: groupId,
    place,
    attempt,
    client,
    ...(isRunning && { seconds: Math.round(lengths.secondsOf(episodeId)) }),
  };
  return { episode_id: episodeId, ...position, state: episode.state, reward, ...toOptional({ reason, step }), ...more };
}
