import type { EpisodeAnswer, EpisodesAnswer } from '@agentjet/swarm-wire';
import type { SwarmContext } from './swarm-context.js';
import { goneError, partsOf, stepOf, toOptional, type EpisodesQuery } from './episode-answers.js';

type OfEpisodes = Pick<SwarmContext, 'ledger' | 'lengths'>;

/**
 * Lists the episodes that the ledger keeps, in the order of their claims. `after` is the id of the last episode of the
 * previous page.
 */
export function listEpisodes(context: OfEpisodes, { after, limit, state }: EpisodesQuery): EpisodesAnswer {
  const { episodes } = context.ledger.state;
  const found: string[] = [];
  // An unknown id starts at the beginning.
  let isPast = after === undefined || !episodes.has(after);
  for (const { episodeId, state: own } of episodes.values()) {
    if (isPast && (state === undefined || own === state)) found.push(episodeId);
    if (found.length > limit) break;
    isPast ||= episodeId === after;
  }
  const page = found.slice(0, limit).map((episodeId) => findEpisode(context, episodeId));
  const last = page.at(-1)?.episode_id;
  return { episodes: page, ...(found.length > limit && last !== undefined && { next: last }) };
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
