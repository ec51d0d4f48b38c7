import { ConfigError, type Algorithm } from '@agentjet/core';
import { createGrpo, type GrpoOptions } from './grpo.js';
import { createReinforce, type ReinforceOptions } from './reinforce.js';
import { createSft } from './sft.js';

export type AlgorithmName = 'grpo' | 'reinforce' | 'sft';
/** Options of all algorithms; each reads its own. */
export type AlgorithmOptions = GrpoOptions & ReinforceOptions;

const algorithms: Readonly<Record<AlgorithmName, (options: AlgorithmOptions) => Algorithm>> = {
  grpo: createGrpo,
  reinforce: createReinforce,
  sft: createSft,
};

/** Options that the algorithm does not have are ignored. Throws ConfigError `unknown_algorithm`. */
export function createAlgorithm(name: AlgorithmName, options: AlgorithmOptions = {}): Algorithm {
  if (!Object.hasOwn(algorithms, name)) {
    throw new ConfigError(
      'unknown_algorithm',
      `Unknown algorithm "${name}". Choose one of ${Object.keys(algorithms).join(', ')}.`,
    );
  }
  return algorithms[name](options);
}
