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
};

const bytesPerFloat = 4;

/**
 * Estimates the time of sampling and training of one step. The prompt of each task is read once. If lengths were not
 * measured, all answers are assumed to have the maximum length.
 */
export function stepSecondsOnCpu(
  { activeParameters, headParameters, numLayers, queryWidth, numParameters }: ModelShape,
  { tasks, promptTokens, episodes, episodesAtOnce, answerTokens, longestSample }: Workload,
  { samplingFlops, trainingFlops, bytesPerSecond, cores }: CpuRates,
): Required<Pick<ResourceNeed, 'stepSeconds' | 'trainingSeconds'>> {
  const [prompts, answers] = [tasks * promptTokens, episodes * answerTokens];
  const passes = Math.ceil(episodes / episodesAtOnce) * answerTokens;
  const reading = (passes * numParameters * bytesPerFloat) / bytesPerSecond;
  const attention = numLayers * queryWidth * (longestSample / 2);
  const forward = 2 * (prompts + answers) * (activeParameters + 2 * attention) + 2 * answers * headParameters;
  const trainingSeconds = (3 * forward) / (trainingFlops * cores);
  return { stepSeconds: reading + forward / (samplingFlops * cores) + trainingSeconds, trainingSeconds };
}
