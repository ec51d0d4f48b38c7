import { EngineError, type ChatRequest, type SamplingOptions, type TokenSampling } from '@agentjet/core';
import type { SamplingDefaults } from '../contract.js';

export type SamplingLimits = {
  readonly promptTokens: number;
  readonly contextLength: number;
  readonly stopIds: readonly number[];
  /** Used where the request has no seed of its own. */
  readonly seed: number;
};

/** Fills what the request leaves open. `maxTokens` is cut to what the context still holds. */
export function resolveSampling(
  request: ChatRequest,
  defaults: SamplingDefaults,
  limits: SamplingLimits,
): TokenSampling {
  const asked = request.sampling ?? {};
  checkSampling(asked);
  const room = limits.contextLength - limits.promptTokens;
  if (room < 1) {
    throw new EngineError(
      'context_overflow',
      `The prompt has ${limits.promptTokens} tokens and the model's context holds ${limits.contextLength}, answer included. Shorten the history, or raise rollout.max_model_len where the model's own context is longer.`,
    );
  }
  return {
    temperature: asked.temperature ?? defaults.temperature,
    topP: asked.topP ?? defaults.topP,
    topK: Math.max(0, asked.topK ?? defaults.topK),
    maxTokens: Math.min(asked.maxTokens ?? defaults.maxTokens, room),
    stopIds: limits.stopIds,
    seed: asked.seed ?? limits.seed,
  };
}

type Rule = readonly [name: keyof SamplingOptions, isValid: (value: number) => boolean, range: string];

const rules: readonly Rule[] = [
  ['temperature', (value) => value >= 0 && value < Infinity, 'a number from 0'],
  ['topP', (value) => value > 0 && value <= 1, 'a number in (0, 1]'],
  ['topK', (value) => Number.isInteger(value) && value >= -1, 'a whole number from -1'],
  ['maxTokens', (value) => Number.isInteger(value) && value >= 1, 'a whole number from 1'],
  ['seed', (value) => Number.isInteger(value), 'a whole number'],
];

function checkSampling(asked: SamplingOptions): void {
  for (const [name, isValid, range] of rules) {
    const value = asked[name];
    if (value !== undefined && (typeof value !== 'number' || !isValid(value))) {
      throw new EngineError('bad_request', `Sampling option ${name} is ${String(value)}, which is not ${range}.`);
    }
  }
  const stop: unknown = asked.stop ?? [];
  if (!Array.isArray(stop) || stop.some((text) => typeof text !== 'string' || text === '')) {
    throw new EngineError(
      'bad_request',
      `Sampling option stop is ${JSON.stringify(stop)}; it must be a list of texts that are not empty.`,
    );
  }
}
