import type { CommonConfig, NeedRequest } from '@agentjet/core';

/** The largest work that the configuration allows. Tokens. */
export type Workload = {
  readonly longestSample: number;
  /** As long as those of most steps are: few reach the limit. */
  readonly usualSample: number;
  /** Of the longest sample. */
  readonly promptTokens: number;
  /** A tree of several samples has at most so many. */
  readonly packTokens: number;
  /**
   * Of the largest tree of a step. All groups of a step go into one tree as far as their prompts begin alike, as under one system
   * prompt: it grows up to `packTokens`.
   */
  readonly treeTokens: number;
  /** Episodes of one step, and of those that run at once. */
  readonly episodes: number;
  readonly episodesAtOnce: number;
  readonly tasks: number;
  /** Of one step, if nothing but a task's prompt is shared. */
  readonly stepTokens: number;
  /** Of one answer. */
  readonly answerTokens: number;
};

/** Of the longest that is allowed; the longest walk in a step of the first tutorial reaches 0.57. */
const usualShare = 0.6;

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
  const stepTokens = data.trainBatchSize * promptTokens + episodes * (longest - promptTokens);
  const largestPack = Math.max(longest, packTokens ?? trainerCommon.maxPackTokens);
  return {
    longestSample: longest,
    usualSample: Math.ceil(usualShare * longest),
    promptTokens,
    packTokens: largestPack,
    treeTokens: Math.min(largestPack, stepTokens),
    tasks: data.trainBatchSize,
    stepTokens,
    episodes,
    episodesAtOnce: Math.min(episodes, rollout.maxEnvWorker),
    answerTokens: Math.min(rollout.maxResponseLengthInOneTurn, longest - 1),
  };
}

/** Whether the frozen reference of a KL term is held as well. */
export function hasReference({ trainerCommon }: CommonConfig): boolean {
  return trainerCommon.useKlLoss && trainerCommon.klLossCoef > 0;
}
