import { snakeKeys, roundTime } from '@agentjet/core';
import { toTurnRecord } from '@agentjet/context-tracker';
import type { Episode } from '@agentjet/rollout';
import { toSampleRecord, type EpisodeRecord } from '@agentjet/run-folder';
import { shortenMetadata } from './shorten-metadata.js';

/**
 * Returns the line of an episode in episodes/, for ordinary runs and for swarms. `EpisodeRecord` documents its keys.
 */
export function toEpisodeLine(episode: Episode): EpisodeRecord {
  const { task, stats, calls } = episode;
  const taskMetadata = shortenMetadata(task.metadata);
  const outcome =
    episode.status === 'completed'
      ? { reward: episode.reward, is_success: episode.isSuccess, ...toVerdictRecord(episode) }
      : { error: episode.error };
  return {
    episode_id: episode.episodeId,
    task_id: task.taskId,
    ...(task.mainQuery !== '' && { main_query: shortenQuery(task.mainQuery) }),
    ...(taskMetadata !== undefined && { task_metadata: taskMetadata }),
    repeat_index: episode.repeatIndex,
    seed: episode.seed,
    status: episode.status,
    ...outcome,
    ...(episode.answer !== undefined && { answer: shortenAnswer(episode.answer) }),
    ...(episode.beganAt !== undefined && { began_at: new Date(episode.beganAt).toISOString() }),
    seconds: roundTime(episode.seconds),
    ...(episode.secondsJudging !== undefined && { seconds_judging: roundTime(episode.secondsJudging) }),
    ...(episode.judgeOutage !== undefined && {
      judge_outage: { requests: episode.judgeOutage.requests, seconds: roundTime(episode.judgeOutage.seconds) },
    }),
    ...(episode.attempt !== undefined && { attempt: episode.attempt }),
    ...(episode.turnRewards !== undefined && { turn_rewards: episode.turnRewards.map(snakeKeys) }),
    ...(episode.spans !== undefined && { spans: episode.spans.map(snakeKeys) }),
    calls,
    ...(episode.swallowedErrors !== undefined && { swallowed_errors: episode.swallowedErrors.map(snakeKeys) }),
    ...(episode.untrainedCalls !== undefined && { untrained_calls: episode.untrainedCalls.map(toCallRecord) }),
    forks: stats.forks,
    splices: stats.splices,
    foreign_messages: stats.foreignMessages,
    ...(hasAny(stats.specialTokens) && { special_tokens: stats.specialTokens }),
    ...(hasAny(episode.ignoredParameters) && { ignored_parameters: episode.ignoredParameters }),
    generated_tokens: stats.generatedTokens,
    trained_tokens: stats.trainedTokens,
    /** This value is 1 if each generated token is trained exactly once, and null if nothing was generated. */
    trained_over_generated: stats.generatedTokens === 0 ? null : stats.trainedTokens / stats.generatedTokens,
    metadata: episode.metadata,
    log_metrics: episode.logMetrics,
    turns: episode.turns.map(toTurnRecord),
    samples: episode.samples.map(toSampleRecord),
  };
}

/** Returns the part of a task's text that a record keeps. The whole text is in the episode's tokens. */
export function shortenQuery(query: string): string {
  if (query.length <= maxQueryLength) return query;
  const rest = ` ... (${query.length} characters)`;
  return `${query.slice(0, maxQueryLength - rest.length)}${rest}`;
}

const maxQueryLength = 4000;

/** Returns the part of an answer that a record keeps: its beginning, and more of its end, which usually holds the result. */
export function shortenAnswer(answer: string): string {
  if (answer.length <= maxAnswerLength) return answer;
  const gap = `\n... (${answer.length} characters) ...\n`;
  const beginning = answer.slice(0, maxAnswerLength / 4);
  return `${beginning}${gap}${answer.slice(beginning.length + gap.length - maxAnswerLength)}`;
}

const maxAnswerLength = 2000;

/**
 * Converts a call of an agent that does not learn. The record has only the new messages of the request, and the answer.
 */
function toCallRecord(call: NonNullable<Episode['untrainedCalls']>[number]) {
  const said = ({ role, content }: { readonly role: string; readonly content: string }) => ({ role, content });
  return {
    agent_name: call.agentName,
    model: call.model,
    repeated_messages: call.repeatedMessages,
    messages: call.messages.map(said),
    answer: call.answer === null ? null : said(call.answer),
    ...(call.error !== undefined && { error: call.error }),
    began_ms: call.beganMs,
    ended_ms: call.endedMs,
  };
}

function hasAny(counts: object): boolean {
  return Object.keys(counts).length > 0;
}

/** Returns the fields of a verdict other than the reward. */
function toVerdictRecord({ rewards, parts, reason }: Extract<Episode, { readonly status: 'completed' }>) {
  return {
    ...(rewards !== undefined && { rewards }),
    ...(parts !== undefined && { parts }),
    ...(reason !== undefined && { reason }),
  };
}
