import { isAgentsFailure } from '@agentjet/core';
import type { Episode } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';
import type { PreparedModel } from '@agentjet/models';
import { EpisodeLengths } from './episode-lengths.js';

/**
 * Forecasts a step a second time, from the lengths of the episodes so far, just before the first step is trained. The
 * forecast at the start of a run has only the limits of the configuration, which are often several times as long.
 */
export function forecastFromLengths(emit: JobListener, forecast: PreparedModel['forecast']): JobListener {
  if (forecast === undefined) return emit;
  const lengths = new EpisodeLengths();
  let isDone = false;
  return (event) => {
    if (!isDone && event.type === 'episode_finished') {
      const { episode } = event;
      if (hasItsLength(episode)) lengths.add(episode);
    }
    if (!isDone && event.type === 'phase_started' && event.phase === 'train') {
      isDone = true;
      const measured = lengths.measured();
      if (measured !== null)
        emit({ type: 'notice', message: describe(lengths.episodes, measured, forecast(measured)) });
    }
    emit(event);
  };
}

/** Returns false if an abort or an outage ended the episode early, so that its length says nothing. */
function hasItsLength(episode: Episode): boolean {
  if (episode.status === 'completed') return true;
  return episode.error.code !== 'aborted' && isAgentsFailure(episode.error);
}

function describe(
  episodes: number,
  { episodeTokens, longestSample }: NonNullable<ReturnType<EpisodeLengths['measured']>>,
  forecast: string,
): string {
  return `The first ${episodes} episodes have ${Math.round(episodeTokens)} tokens on average, and the longest row has ${longestSample}. With these lengths: ${forecast}.`;
}
