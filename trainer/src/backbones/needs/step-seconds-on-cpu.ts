import type { ResourceNeed } from '@agentjet/core';
import type { ModelShape } from './model-shape.js';
import type { Workload } from './workload.js';

/** The measured speed of a backbone on a CPU. */
export type CpuRates = {
  /** Multiplications and additions a second of one core. */
  readonly samplingFlops: number;
  readonly trainingFlops: number;
  /** The bytes of weights that all cores together read to sample one token of each answer. */
  readonly bytesPerSecond: number;
  readonly cores: number;
  /** Whether only an adapter is trained. Defaults to false. */
  readonly isAdapter?: boolean;
  /** Whether the backward pass computes each layer again. Defaults to false. */
  readonly isRecomputed?: boolean;
};

const bytesPerFloat = 4;

/**
 * Estimates the time of sampling and training of one step. The prompt of each task is read once. If lengths were not
 * measured, all answers are assumed to have the maximum length.
 */
export function stepSecondsOnCpu(
  { activeParameters, headParameters, numLayers, queryWidth, numParameters }: ModelShape,
  { tasks, promptTokens, episodes, episodesAtOnce, answerTokens, longestSample }: Workload,
  { samplingFlops, trainingFlops, bytesPerSecond, cores, isAdapter = false, isRecomputed = false }: CpuRates,
): Required<Pick<ResourceNeed, 'stepSeconds' | 'trainingSeconds'>> {
  const [prompts, answers] = [tasks * promptTokens, episodes * answerTokens];
  const passes = Math.ceil(episodes / episodesAtOnce) * answerTokens;
  const reading = (passes * numParameters * bytesPerFloat) / bytesPerSecond;
  const forward = forwardFlops(
    { activeParameters, headParameters, numLayers, queryWidth },
    { prompts, answers, longestSample },
  );
  // Training computes three products with each matrix. If the matrix is frozen, its gradient, the third, is not needed.
  const numProducts = (isAdapter ? 2 : 3) + (isRecomputed ? 1 : 0);
  const trainingSeconds = (numProducts * forward) / (trainingFlops * cores);
  return { stepSeconds: reading + forward / (samplingFlops * cores) + trainingSeconds, trainingSeconds };
}

/** Estimates the time that a model needs to score the tokens of a step. */
export function scoringSecondsOnCpu(
  shape: ModelShape,
  { tasks, promptTokens, episodes, answerTokens, longestSample }: Workload,
  { trainingFlops, cores }: CpuRates,
): number {
  const tokens = { prompts: tasks * promptTokens, answers: episodes * answerTokens, longestSample };
  return forwardFlops(shape, tokens) / (trainingFlops * cores);
}

/** Counts multiplications and additions of a forward pass. Only answers need the head. */
function forwardFlops(
  {
    activeParameters,
    headParameters,
    numLayers,
    queryWidth,
  }: Pick<ModelShape, 'activeParameters' | 'headParameters' | 'numLayers' | 'queryWidth'>,
  {
    prompts,
    answers,
    longestSample,
  }: { readonly prompts: number; readonly answers: number; readonly longestSample: number },
): number {
  const attention = numLayers * queryWidth * (longestSample / 2);
  return 2 * (prompts + answers) * (activeParameters + 2 * attention) + 2 * answers * headParameters;
}
