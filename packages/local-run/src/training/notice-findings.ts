import { snakeKeys, type CommonConfig } from '@agentjet/core';
import { Diagnosis, type EpisodeFacts } from '@agentjet/diagnose';
import type { Episode } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';

/** Passes events on, and reports what the rules of `diagnose` find after each step and each evaluation. */
export function noticeFindings(emit: JobListener, config: CommonConfig): JobListener {
  const diagnosis = new Diagnosis(config);
  let episodes: EpisodeFacts[] = [];
  return (event) => {
    emit(event);
    if (event.type === 'episode_finished' && event.phase !== 'debug') episodes.push(toFacts(event.episode));
    if (event.type !== 'step_finished' && event.type !== 'evaluated') return;
    const metrics = event.type === 'step_finished' ? { ...event.metrics, step: event.step } : undefined;
    const found = diagnosis.look(metrics, episodes);
    episodes = [];
    for (const { message } of found) emit({ type: 'notice', message });
  };
}

/** Returns the values that the episode's line in the run folder has. */
function toFacts({ episodeId, swallowedErrors }: Episode): EpisodeFacts {
  return {
    episode_id: episodeId,
    ...(swallowedErrors !== undefined && {
      swallowed_errors: swallowedErrors.map(
        (call) => snakeKeys(call) as NonNullable<EpisodeFacts['swallowed_errors']>[number],
      ),
    }),
  };
}
