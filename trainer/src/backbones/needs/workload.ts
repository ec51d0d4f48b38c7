import { firstWorkers, type BackboneCapabilities, type CommonConfig, type NeedRequest } from '@agentjet/core';

/** The largest work that the configuration allows, in tokens. */
export type Workload = {
  readonly longestSample: number;
  /** The typical length of a sample. Few samples reach the limit. */
  readonly usualSample: number;
  /** Prompt tokens of the longest sample. */
  readonly promptTokens: number;
  /** The maximum number of tokens of a tree of several samples. */
  readonly packTokens: number;
  /**
   * Tokens of the largest tree of a step. Groups whose prompts have a common beginning, such as the same system prompt,
   * share one tree. The tree has at most `packTokens` tokens.
   */
  readonly treeTokens: number;
  /** The number of episodes of one step, and of episodes that run at the same time. */
  readonly episodes: number;
  readonly episodesAtOnce: number;
  readonly tasks: number;
  /** Tokens of one step if samples share only the prompt of their task. */
  readonly stepTokens: number;
  /** The share of `stepTokens` that is not part of a prompt. */
  readonly answerShare: number;
  /** Tokens of one answer. */
  readonly answerTokens: number;
};

/**
 * The typical length as a share of the maximum length. In the first tutorial, the longest walk of a step reaches 0.57.
 */
const usualShare = 0.6;

/** `contextLength` is the context length of the model. `capabilities` are those of the backbone. */
export function readWorkload(
  request: WorkloadRequest,
  contextLength: number,
  capabilities: Pick<BackboneCapabilities, 'samplesWide'> = {},
): Workload {
  const { data, rollout, trainerCommon } = request.config;
  const { longest, usual, prompt, answer } = readLengths(request, contextLength);
  const episodes = data.trainBatchSize * rollout.numRepeat;
  const stepTokens = data.trainBatchSize * prompt + episodes * (usual - prompt);
  const largestPack = Math.max(longest, request.packTokens ?? trainerCommon.maxPackTokens);
  return {
    longestSample: longest,
    usualSample: request.measured === undefined ? Math.ceil(usualShare * longest) : Math.min(usual, longest),
    promptTokens: prompt,
    packTokens: largestPack,
    treeTokens: Math.min(largestPack, Math.max(longest, stepTokens)),
    tasks: data.trainBatchSize,
    stepTokens,
    answerShare: (episodes * (usual - prompt)) / stepTokens,
    episodes,
    episodesAtOnce: Math.min(episodes, firstWorkers(rollout, capabilities)),
    answerTokens: answer,
  };
}

type WorkloadRequest = Pick<NeedRequest, 'config' | 'longestSample' | 'packTokens' | 'measured'>;

type Lengths = { readonly longest: number; readonly usual: number; readonly prompt: number; readonly answer: number };

/** Without measurements, the samples of a step are as long as the configuration allows. */
function readLengths({ config, longestSample, measured }: WorkloadRequest, contextLength: number): Lengths {
  const { data, rollout } = config;
  const most = Math.min(data.maxPromptLength + data.maxResponseLength, rollout.maxModelLen, contextLength);
  const longest = Math.min(longestSample ?? measured?.longestSample ?? most, most);
  if (measured !== undefined) {
    const usual = Math.max(1, Math.ceil(measured.episodeTokens));
    const answer = Math.max(1, Math.min(usual, Math.ceil(measured.answerTokens)));
    return { longest, usual, prompt: usual - answer, answer };
  }
  const promptShare = data.maxPromptLength / (data.maxPromptLength + data.maxResponseLength);
  const prompt = Math.max(1, Math.min(longest - 1, Math.round(longest * promptShare)));
  return { longest, usual: longest, prompt, answer: Math.min(rollout.maxResponseLengthInOneTurn, longest - 1) };
}

/** Returns whether the frozen reference of a KL term takes memory in addition to the trained weights. */
export function hasReference({ trainerCommon }: CommonConfig): boolean {
  return trainerCommon.useKlLoss && trainerCommon.klLossCoef > 0;
}
