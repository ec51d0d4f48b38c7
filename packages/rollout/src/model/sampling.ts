import { EngineError, showValue, type ChatRequest, type SamplingOptions, type TokenSampling } from '@agentjet/core';
import type { SamplingDefaults } from '../contract.js';

/**
 * How a request's temperature, top_p, top_k and seed are treated while its agent is trained. With `ignore`, the
 * configuration decides, because the loss expects logprobs of the run's distribution, and because a fixed seed would
 * make all repeats of a task equal. With `honour`, the request decides. Its temperature is recorded with each token,
 * and tokens sampled with another top_p or top_k than the run's are not trained.
 */
export type RequestSampling = 'ignore' | 'honour';

export type SamplingLimits = {
  readonly promptTokens: number;
  readonly contextLength: number;
  /** The setting that error messages name as the context limit. Default: `rollout.max_model_len`. */
  readonly contextSetting?: string | undefined;
  readonly stopIds: readonly number[];
  /** Used if the request has no seed. */
  readonly seed: number;
};

export type ResolvedSampling = {
  readonly sampling: TokenSampling;
  /** Options that the request set without effect, by their names in the configuration. */
  readonly ignored: readonly string[];
  /** Whether the loss can compute the distribution of the tokens. */
  readonly isTrainable: boolean;
};

/**
 * Sets the options that the request does not set or may not set. `maxTokens` is reduced to the space that is left in
 * the context.
 */
export function resolveSampling(
  request: ChatRequest,
  defaults: SamplingDefaults,
  limits: SamplingLimits & { readonly requestSampling: RequestSampling },
): ResolvedSampling {
  const wanted = request.sampling ?? {};
  checkSampling(wanted);
  const isHonoured = limits.requestSampling === 'honour';
  const { temperature, topP, topK, seed }: SamplingOptions = isHonoured ? wanted : {};
  const room = limits.contextLength - limits.promptTokens;
  if (room < 1) {
    throw new EngineError(
      'context_overflow',
      `The prompt has ${limits.promptTokens} tokens and the model's context holds ${limits.contextLength}, answer included. Shorten the history, or raise ${limits.contextSetting ?? 'rollout.max_model_len'} if the model's own context is longer.`,
    );
  }
  const sampling = {
    temperature: temperature ?? defaults.temperature,
    topP: topP ?? defaults.topP,
    topK: Math.max(0, topK ?? defaults.topK),
    maxTokens: Math.min(wanted.maxTokens ?? defaults.maxTokens, room),
    stopIds: limits.stopIds,
    seed: seed ?? limits.seed,
  };
  const isTrainable = sampling.temperature === 0 || cutOf(sampling) === cutOf(defaults);
  return { sampling, ignored: isHonoured ? [] : findIgnored(wanted, sampling), isTrainable };
}

type Cut = Pick<TokenSampling, 'temperature' | 'topP' | 'topK'>;

/**
 * Returns a string that is equal for two requests if top_p and top_k keep the same part of the distribution. Greedy
 * sampling counts as keeping all of it.
 */
function cutOf({ temperature, topP, topK }: Cut): string {
  return temperature === 0 ? '1 0' : `${topP} ${Math.max(0, topK)}`;
}

/** Returns the names of the request's options that are not used. A seed always counts as not used. */
function findIgnored(wanted: SamplingOptions, done: TokenSampling): readonly string[] {
  const differs = (value: number | undefined, used: number): boolean => value !== undefined && value !== used;
  return [
    ...(differs(wanted.temperature, done.temperature) ? ['temperature'] : []),
    ...(differs(wanted.topP, done.topP) ? ['top_p'] : []),
    ...(wanted.topK !== undefined && Math.max(0, wanted.topK) !== done.topK ? ['top_k'] : []),
    ...(wanted.seed === undefined ? [] : ['seed']),
  ];
}

type Rule = readonly [name: keyof SamplingOptions, isValid: (value: number) => boolean, range: string];

const rules: readonly Rule[] = [
  ['temperature', (value) => value >= 0 && value < Infinity, 'a number from 0'],
  ['topP', (value) => value > 0 && value <= 1, 'a number in (0, 1]'],
  ['topK', (value) => Number.isInteger(value) && value >= -1, 'a whole number from -1'],
  ['maxTokens', (value) => Number.isInteger(value) && value >= 1, 'a whole number from 1'],
  ['seed', (value) => Number.isInteger(value), 'a whole number'],
];

const optionNames: readonly string[] = [...rules.map(([name]) => name), 'stop'];

function checkSampling(asked: SamplingOptions): void {
  const unknown = Object.keys(asked).find((name) => !optionNames.includes(name));
  if (unknown !== undefined)
    throw new EngineError(
      'bad_request',
      `Sampling option ${unknown} is unknown. The options are ${optionNames.join(', ')}.`,
    );
  for (const [name, isValid, range] of rules) {
    const value = asked[name];
    if (value !== undefined && (typeof value !== 'number' || !isValid(value))) {
      throw new EngineError(
        'bad_request',
        `Sampling option ${name} is ${showValue(name, value)}, which is not ${range}.`,
      );
    }
  }
  const stop: unknown = asked.stop ?? [];
  if (!Array.isArray(stop) || stop.some((text) => typeof text !== 'string' || text === '')) {
    throw new EngineError(
      'bad_request',
      `Sampling option stop is ${JSON.stringify(stop)}; it must be a list of non-empty strings.`,
    );
  }
}
