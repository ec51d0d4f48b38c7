import type { CommonConfig, NeedRequest } from '@agentjet/core';

/** The largest work that the configuration allows. Tokens. */
export type Workload = {
  readonly longestSample: number;
  /** Of the longest sample. */
  readonly promptTokens: number;
  /** A tree of several samples has at most so many. */
  readonly packTokens: number;
  /** Episodes of one step, and of those that run at once. */
  readonly episodes: number;
  readonly episodesAtOnce: number;
  readonly tasks: number;
  /** Of one step, if nothing but a task's prompt is shared. */
  readonly stepTokens: number;
  /** Of one answer. */
  readonly answerTokens: number;
};

/** `contextLength`: of the model. */
export function readWorkload(
  { config, longestSample, packTokens }: Pick<NeedRequest, 'config' | 'longestSample' | 'packTokens'>,
  contextLength: number,
): Workload {
  const { data, rollout, trainerCommon } = config;
  const most = Math.min(data.maxPromptLength + data.maxResponseLength, rollout.maxModelLen, contextLength);
  const longest = Math.min(longestSample ?? most, most);
  const promptShare = data.maxPromptLength / (data.maxPromptLength + data.maxResponseLength);
  const promptTokens = Math.max(1, Math.min(longest - 1, Math.round(longest * promptShare)));
  const episodes = data.trainBatchSize * rollout.numRepeat;
  return {
    longestSample: longest,
    promptTokens,
    packTokens: Math.max(longest, packTokens ?? trainerCommon.maxPackTokens),
    tasks: data.trainBatchSize,
    stepTokens: data.trainBatchSize * promptTokens + episodes * (longest - promptTokens),
    episodes,
    episodesAtOnce: Math.min(episodes, rollout.maxEnvWorker),
    answerTokens: Math.min(rollout.maxResponseLengthInOneTurn, longest - 1),
  };
}

/** Whether the frozen reference of a KL term is held as well. */
export function hasReference({ trainerCommon }: CommonConfig): boolean {
  return trainerCommon.useKlLoss && trainerCommon.klLossCoef > 0;
}
