import { snakeKeys } from '@agentjet/core';
import type { Diagnosis, EpisodeFacts, NewLine } from '@agentjet/diagnose';
import type { Episode } from '@agentjet/rollout';
import { toEvaluationRecord, type JobEvent, type JobListener } from '@agentjet/records';

/** Passes events on, and reports what the rules of `diagnose` find after each step and each evaluation. */
export function noticeFindings(emit: JobListener, diagnosis: Diagnosis): JobListener {
  let episodes: EpisodeFacts[] = [];
  return (event) => {
    emit(event);
    if (event.type === 'episode_finished' && event.phase !== 'debug') episodes.push(toFacts(event.episode));
    const line = lineOf(event);
    if (line === undefined) return;
    const found = diagnosis.look(line, episodes);
    episodes = [];
    for (const { message } of found) emit({ type: 'notice', message });
  };
}

function lineOf(event: JobEvent): NewLine | undefined {
  if (event.type === 'step_finished') return { step: { ...event.metrics, step: event.step } };
  return event.type === 'evaluated' ? { evaluation: toEvaluationRecord(event.evaluation) } : undefined;
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
