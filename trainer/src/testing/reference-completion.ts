import type { TokenSampling } from '@agentjet/core';
import type { HashStepModel } from './hash-step-model.js';
import { drawToken, toInverseTemperature } from '../backbones/embedded/sampling/sampler.js';

/**
 * Computes the completion that an engine with this model must sample. It works token by token, without a cache or a
 * batch, and is only for tests.
 */
export function referenceCompletion(
  model: HashStepModel,
  promptIds: Int32Array,
  sampling: TokenSampling,
): { readonly ids: number[]; readonly logprobs: number[] } {
  const [ids, logprobs]: [number[], number[]] = [[], []];
  const limit = Math.min(model.contextLength - promptIds.length, sampling.maxTokens);
  let state = promptIds.reduce((sum, id, position) => sum + model.contribution(id, position), 0);
  while (ids.length < limit) {
    const probabilities = model.referenceProbabilities(state, toInverseTemperature(sampling.temperature));
    const draw = drawToken(probabilities, sampling, ids.length);
    if (draw === undefined) break;
    state += model.contribution(draw.id, promptIds.length + ids.length);
    ids.push(draw.id);
    logprobs.push(draw.logprob);
    if (sampling.stopIds.includes(draw.id)) break;
  }
  return { ids, logprobs };
}
