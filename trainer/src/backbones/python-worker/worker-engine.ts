import { EngineError, type Completion, type CompletionTiming, type Engine, type GenerateRequest } from '@agentjet/core';

import { toFloat32, toInt32 } from './messages.js';
import type { TokenListener, WorkerConnection } from './worker-connection.js';

type CompletionMessage = {
  readonly ids: Uint8Array;
  readonly logprobs: Uint8Array;
  readonly finish_reason: 'stop' | 'length';
  readonly policy_version: number;
  readonly timing?: Readonly<Record<'queued_ms' | 'prefill_ms' | 'decode_ms', number>>;
};

const engineCodes = new Set(['context_overflow', 'aborted', 'closed', 'bad_request']);

type Line = Pick<WorkerConnection, 'call' | 'settle'>;

export type WorkerEngineOptions = {
  readonly contextLength: number;
  /** The maximum number of calls that the worker has at a time. Other calls wait here. */
  readonly maxInFlight: number;
  policyVersion(): number;
};

/** Wraps the worker's sampler as an Engine. */
export function createWorkerEngine(connection: Line, options: WorkerEngineOptions): Engine {
  const gate = createGate(options.maxInFlight);
  return {
    contextLength: options.contextLength,
    generate: (request) => gate(() => generate(connection, request, options), request.signal),
  };
}

async function generate(connection: Line, request: GenerateRequest, options: WorkerEngineOptions): Promise<Completion> {
  const { promptIds, sampling, episodeId, signal } = request;
  const heard = createListener(connection, request, options);
  const message = {
    kind: 'generate',
    prompt_ids: promptIds,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    max_tokens: sampling.maxTokens,
    stop_ids: sampling.stopIds,
    seed: sampling.seed,
    ...(episodeId !== undefined && { episode_id: episodeId }),
    stream: heard !== undefined,
  };
  const value = await connection.call(message, {
    signal,
    toError: toEngineError,
    ...(heard === undefined ? {} : { onToken: heard.onToken }),
  });
  const completion = isCompletion(value) ? value : toCompletion(value as CompletionMessage);
  return heard === undefined ? completion : heard.finish(completion);
}

/**
 * Passes each token to the callback as soon as it arrives. The last token arrives with the completion. If the callback
 * returns 'stop', the call ends with the tokens so far.
 */
function createListener(
  connection: Line,
  request: GenerateRequest,
  options: WorkerEngineOptions,
): { readonly onToken: TokenListener; finish(whole: Completion): Completion } | undefined {
  const callback = request.onToken;
  if (callback === undefined) return undefined;
  const ids: number[] = [];
  const logprobs: number[] = [];
  let isStopped = false;
  const version = options.policyVersion();
  const hear = (id: number, logprob: number): void => {
    ids.push(id);
    logprobs.push(logprob);
    isStopped = callback(id, logprob) === 'stop';
  };
  const stopped = (policyVersion: number): Completion => ({
    ids: Int32Array.from(ids),
    logprobs: Float32Array.from(logprobs),
    finishReason: 'stop',
    policyVersion,
  });
  const onToken: TokenListener = (id, logprob) => {
    if (isStopped) return;
    hear(id, logprob);
    if (isStopped) connection.settle(onToken, stopped(version));
  };
  const finish = (whole: Completion): Completion => {
    for (let index = ids.length; index < whole.ids.length && !isStopped; index += 1)
      hear(whole.ids[index] ?? 0, whole.logprobs[index] ?? 0);
    return isStopped ? stopped(whole.policyVersion) : whole;
  };
  return { onToken, finish };
}

function isCompletion(value: unknown): value is Completion {
  return typeof value === 'object' && value !== null && 'finishReason' in value;
}

function toCompletion(message: CompletionMessage): Completion {
  return {
    ids: toInt32(message.ids),
    logprobs: toFloat32(message.logprobs),
    finishReason: message.finish_reason,
    policyVersion: message.policy_version,
    ...(message.timing && { timing: toTiming(message.timing) }),
  };
}

function toTiming({ queued_ms, prefill_ms, decode_ms }: NonNullable<CompletionMessage['timing']>): CompletionTiming {
  return { queuedMs: queued_ms, prefillMs: prefill_ms, decodeMs: decode_ms };
}

function toEngineError(code: string, message: string): EngineError {
  return new EngineError(engineCodes.has(code) ? code : 'failed', message);
}

/** Runs at most `limit` tasks at a time, in order. A task that is aborted while it waits never starts. */
function createGate(limit: number): <T>(task: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T> {
  let running = 0;
  const queue: (() => void)[] = [];
  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  const enter = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      if (running < limit) {
        running += 1;
        resolve();
        return;
      }
      const onAbort = (): void => {
        queue.splice(queue.indexOf(start), 1);
        reject(toEngineError('aborted', 'The call was aborted while it waited for the sampler.'));
      };
      const start = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      queue.push(start);
    });
  return async (task, signal) => {
    if (signal?.aborted === true) throw toEngineError('aborted', 'The call was aborted before it began.');
    await enter(signal);
    try {
      return await task();
    } finally {
      leave();
    }
  };
}
