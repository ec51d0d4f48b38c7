import { serialize } from 'node:v8';
import type { Episode } from '@agentjet/rollout';

/** The part of a finished episode that the process sends to the run. The run itself has recorded its tokens. */
export type RemoteEpisode = RemotePart<Episode>;

type RemotePart<E> = E extends Episode
  ? Omit<E, 'task' | 'samples' | 'turns' | 'stats' | 'calls' | 'ignoredParameters' | 'turnRewards' | 'seconds'>
  : never;

/**
 * Removes the fields that the run records itself. If a value cannot be sent, such as a function in the metadata, only its episode
 * fails.
 */
export function toRemoteEpisode(episode: Episode): RemoteEpisode {
  const { task: _task, samples: _samples, turns: _turns, stats: _stats, ...rest } = episode;
  const { calls: _calls, ignoredParameters: _ignored, turnRewards: _rewards, seconds: _seconds, ...remote } = rest;
  try {
    serialize(remote);
    return remote as RemoteEpisode;
  } catch (error) {
    const message = `What the workflow returned cannot be sent to the run: ${String(error)} Return plain data.`;
    return failEpisode(remote, { code: 'bad_output', message });
  }
}

export function failEpisode(
  { episodeId, repeatIndex, seed }: Pick<Episode, 'episodeId' | 'repeatIndex' | 'seed'>,
  error: EpisodeError,
): RemoteEpisode {
  return { episodeId, repeatIndex, seed, status: 'failed', error, metadata: {}, logMetrics: {} };
}

type EpisodeError = Extract<Episode, { readonly status: 'failed' }>['error'];
