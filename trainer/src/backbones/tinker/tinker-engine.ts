import {
  EngineError,
  isJsonObject,
  rejectOnAbort,
  toErrorMessage,
  type Completion,
  type Engine,
  type GenerateRequest,
  type JsonObject,
} from '@agentjet/core';
import { aborted, closed } from '../embedded/sampling/engine-errors.js';
import { checkRequest } from '../embedded/sampling/check-request.js';
import { toModelInput } from './row-data.js';
import type { TinkerClient } from './tinker-client.js';
import { LostError } from './tinker-errors.js';
import type { Turns } from './turns.js';

/** The weights that a call samples from. They do not change. */
export type Sampler = { readonly id: string; readonly policyVersion: number };

export type TinkerEngineOptions = {
  readonly client: TinkerClient;
  readonly contextLength: number;
  readonly vocabSize: number;
  sampler(): Sampler;
  /** Restores the weights after the server has lost this sampler. */
  recover(lost: Sampler): Promise<Sampler>;
  /** Set for a server that cannot sample while it trains. */
  readonly turns?: Turns;
};

/** The number of different seeds, because servers read seeds as signed 32-bit numbers. */
const seedRange = 2 ** 31;

/**
 * Wraps the server's sampler as an Engine. The server returns only whole completions, so `onToken` is called for all
 * tokens at the end.
 */
export function createTinkerEngine(options: TinkerEngineOptions): Engine {
  let sequence = 0;
  const nextSequence = () => ++sequence;
  return {
    contextLength: options.contextLength,
    generate: (request) => generate(request, options, nextSequence),
  };
}

async function generate(
  request: GenerateRequest,
  options: TinkerEngineOptions,
  nextSequence: () => number,
): Promise<Completion> {
  const { signal, promptIds, sampling } = request;
  if (options.client.isClosed) throw closed();
  if (signal?.aborted) throw aborted(signal);
  checkRequest(promptIds, sampling, options);
  try {
    const run = () => sample(request, options, nextSequence);
    const sampled = options.turns?.sample(run) ?? run();
    return hear(await rejectOnAbort(sampled, signal, () => aborted(signal)), request);
  } catch (error) {
    if (error instanceof EngineError) throw error;
    if (options.client.isClosed) throw closed();
    throw new EngineError('failed', `The server did not sample: ${toErrorMessage(error)}`, { cause: error });
  }
}

async function sample(
  request: GenerateRequest,
  options: TinkerEngineOptions,
  nextSequence: () => number,
): Promise<Completion> {
  if (request.signal?.aborted) throw aborted(request.signal);
  const sampler = options.sampler();
  try {
    return await ask(request, options, { sampler, sequence: nextSequence() });
  } catch (error) {
    if (!(error instanceof LostError)) throw error;
    return await ask(request, options, { sampler: await options.recover(sampler), sequence: nextSequence() });
  }
}

async function ask(
  { promptIds, sampling }: GenerateRequest,
  { client, contextLength }: TinkerEngineOptions,
  { sampler, sequence }: { readonly sampler: Sampler; readonly sequence: number },
): Promise<Completion> {
  const answer = await client.call(
    'asample',
    {
      sampling_session_id: sampler.id,
      seq_id: sequence,
      prompt: toModelInput(promptIds),
      num_samples: 1,
      sampling_params: {
        max_tokens: Math.min(sampling.maxTokens, contextLength - promptIds.length),
        temperature: sampling.temperature,
        top_p: sampling.topP,
        top_k: sampling.topK === 0 ? -1 : sampling.topK,
        seed: ((Math.trunc(sampling.seed) % seedRange) + seedRange) % seedRange,
        stop: [...sampling.stopIds],
      },
    },
    'sample',
  );
  return readCompletion(answer, sampler.policyVersion);
}

function readCompletion(answer: JsonObject, policyVersion: number): Completion {
  const sequence: unknown = Array.isArray(answer['sequences']) ? answer['sequences'][0] : undefined;
  const { tokens, logprobs, stop_reason: reason } = isJsonObject(sequence) ? sequence : {};
  if (!Array.isArray(tokens) || !Array.isArray(logprobs) || tokens.length !== logprobs.length || tokens.length === 0)
    throw new EngineError(
      'failed',
      'The server returned no tokens, or not exactly one logprob for each token. Check that it returns logprobs when it samples.',
    );
  return {
    ids: Int32Array.from(tokens, Number),
    logprobs: Float32Array.from(logprobs, Number),
    finishReason: reason === 'stop' ? 'stop' : 'length',
    policyVersion,
  };
}

function hear(completion: Completion, { onToken, signal }: GenerateRequest): Completion {
  for (const [index, id] of completion.ids.entries()) {
    const isStopped = onToken?.(id, completion.logprobs[index] ?? Number.NaN) === 'stop';
    if (signal?.aborted) throw aborted(signal);
    if (!isStopped) continue;
    const [ids, logprobs] = [completion.ids.slice(0, index + 1), completion.logprobs.slice(0, index + 1)];
    return { ...completion, ids, logprobs, finishReason: 'stop' };
  }
  return completion;
}
