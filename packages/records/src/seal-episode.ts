import { packTurns } from '@agentjet/context-tracker';
import type { NewEnd } from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';
import { sealRows, toSampledRow } from './sealed-rows.js';
import { shortenAnswer, shortenQuery } from './episode-line.js';
import { shortenMetadata } from './shorten-metadata.js';
import type { EndContent } from './read-end.js';

/**
 * Makes the end record of an episode. It contains everything that `readEnd` reads, with tokens and logprobs exact to
 * the last bit.
 */
export function sealEpisode(episode: Episode, incarnation: number): Pick<NewEnd, 'content' | 'bytes'> {
  const { task, samples, turns, stats, calls, metadata, logMetrics, swallowedErrors, untrainedCalls } = episode;
  const taskMetadata = shortenMetadata(task.metadata);
  const { rows, bytes } = sealRows(samples.map(toSampledRow));
  const content: EndContent = {
    name: episode.episodeId,
    task_id: task.taskId,
    main_query: shortenQuery(task.mainQuery),
    repeat_index: episode.repeatIndex,
    seed: episode.seed,
    incarnation,
    metadata,
    log_metrics: logMetrics,
    turns: packTurns(turns),
    stats,
    calls,
    ignored_parameters: episode.ignoredParameters,
    rows,
    ...(taskMetadata !== undefined && { task_metadata: taskMetadata }),
    ...(episode.answer !== undefined && { answer: shortenAnswer(episode.answer) }),
    ...(episode.beganAt !== undefined && { began_at: episode.beganAt }),
    ...(episode.attempt !== undefined && { attempt: episode.attempt }),
    ...(episode.secondsJudging !== undefined && { seconds_judging: episode.secondsJudging }),
    ...(episode.judgeOutage !== undefined && { judge_outage: episode.judgeOutage }),
    ...(episode.spans !== undefined && { spans: episode.spans.map(toStoredSpan) }),
    ...(swallowedErrors !== undefined && { swallowed_errors: swallowedErrors.map(toStoredError) }),
    ...(untrainedCalls !== undefined && { messages: untrainedCalls }),
    ...toOutcome(episode),
  };
  return { content, bytes };
}

function toOutcome(episode: Episode): Pick<EndContent, 'error' | 'parts' | 'reason' | 'turn_rewards'> {
  if (episode.status === 'failed') {
    const { error, turnRewards } = episode;
    return { error, ...(turnRewards !== undefined && { turn_rewards: turnRewards }) };
  }
  const { parts, reason } = episode;
  return { ...(parts !== undefined && { parts }), ...(reason !== undefined && { reason }) };
}

const toStoredSpan = ({ name, beganMs, endedMs, hasFailed }: NonNullable<Episode['spans']>[number]) => {
  return { name, began_ms: beganMs, ended_ms: endedMs, has_failed: hasFailed };
};

const toStoredError = ({ agentName, ...error }: NonNullable<Episode['swallowedErrors']>[number]) => {
  return { agent_name: agentName, ...error };
};
