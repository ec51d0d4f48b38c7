import { createRandom, EngineError, type Completion, type Engine, type GenerateRequest } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/** A reply of the engine. A plain string ends with the model's stop token. */
export type ScriptedReply =
  | string
  | {
      readonly text: string;
      /** Runs into the token limit and does not stop. */
      readonly isTruncated?: boolean;
      /** Rejects with this error and does not answer. */
      readonly error?: Error;
      /**
       * The delay before each token. With 0, the engine yields to the event loop between tokens. Without it, all tokens
       * come at once.
       */
      readonly tokenDelayMs?: number;
    };

/** One request as the engine saw it. `text` is the prompt, including special tokens. */
export type ScriptedRequest = {
  readonly index: number;
  readonly text: string;
  readonly request: GenerateRequest;
  /** `undefined` until the call is over. */
  outcome: 'answered' | 'aborted' | 'failed' | undefined;
  /** The sampled tokens, once the call is answered. */
  completion: Completion | undefined;
};

/** Options of `createScriptedEngine`. */
export type ScriptedEngineOptions = {
  readonly chatTokenizer: ChatTokenizer;
  /** Replies in order (the last one repeats), or a function of the request. */
  readonly replies: readonly ScriptedReply[] | ((request: ScriptedRequest) => ScriptedReply | Promise<ScriptedReply>);
  readonly contextLength?: number;
  readonly policyVersion?: number;
};

/** An engine that remembers its requests. */
export type ScriptedEngine = Engine & {
  readonly requests: readonly ScriptedRequest[];
  /** The number of running calls. */
  readonly numRunning: number;
};

/**
 * Creates an engine without a model. It returns scripted replies and follows the whole Engine contract: it streams
 * token by token, it respects stop ids, limits, aborts and the context length, and its logprobs differ from token to
 * token and depend on the seed.
 */
export function createScriptedEngine(options: ScriptedEngineOptions): ScriptedEngine {
  const requests: ScriptedRequest[] = [];
  let numRunning = 0;
  return {
    contextLength: options.contextLength ?? 100_000,
    requests,
    get numRunning() {
      return numRunning;
    },
    generate: async (request) => {
      const entry: ScriptedRequest = {
        index: requests.length,
        text: options.chatTokenizer.tokenizer.decode(request.promptIds),
        request,
        outcome: undefined,
        completion: undefined,
      };
      requests.push(entry);
      numRunning++;
      try {
        entry.completion = await answer(options, entry);
        entry.outcome = 'answered';
        return entry.completion;
      } catch (error) {
        entry.outcome = request.signal?.aborted ? 'aborted' : 'failed';
        throw error;
      } finally {
        numRunning--;
      }
    },
  };
}

async function answer(options: ScriptedEngineOptions, entry: ScriptedRequest): Promise<Completion> {
  const { request } = entry;
  const contextLength = options.contextLength ?? 100_000;
  checkAborted(request);
  if (request.promptIds.length >= contextLength) {
    throw new EngineError(
      'context_overflow',
      `The prompt has ${request.promptIds.length} tokens, the context holds ${contextLength}.`,
    );
  }
  const reply = await pickReply(options, entry);
  checkAborted(request);
  if (reply.error !== undefined) throw reply.error;
  const ids = toIds(options.chatTokenizer, reply, request);
  const logprobs = toLogprobs(ids, request.sampling.seed);
  const room = Math.min(request.sampling.maxTokens, contextLength - request.promptIds.length);
  const { length, isStopped } = await emit(request, { ids, logprobs, room }, reply.tokenDelayMs);
  return {
    ids: ids.slice(0, length),
    logprobs: logprobs.slice(0, length),
    finishReason: isStopped ? 'stop' : 'length',
    policyVersion: options.policyVersion ?? 0,
  };
}

type Prepared = { readonly ids: Int32Array; readonly logprobs: Float32Array; readonly room: number };

async function emit(
  request: GenerateRequest,
  { ids, logprobs, room }: Prepared,
  delayMs: number | undefined,
): Promise<{ readonly length: number; readonly isStopped: boolean }> {
  for (let at = 0; at < Math.min(ids.length, room); at++) {
    if (delayMs !== undefined) await wait(delayMs);
    checkAborted(request);
    const id = ids[at] ?? 0;
    const verdict = request.onToken?.(id, logprobs[at] ?? 0);
    if (verdict === 'stop' || request.sampling.stopIds.includes(id)) return { length: at + 1, isStopped: true };
  }
  checkAborted(request);
  return { length: Math.min(ids.length, room), isStopped: false };
}

type Reply = Exclude<ScriptedReply, string>;

async function pickReply({ replies }: ScriptedEngineOptions, entry: ScriptedRequest): Promise<Reply> {
  const reply =
    typeof replies === 'function' ? await replies(entry) : (replies[Math.min(entry.index, replies.length - 1)] ?? '');
  return typeof reply === 'string' ? { text: reply } : reply;
}

function toIds({ tokenizer, template }: ChatTokenizer, reply: Reply, request: GenerateRequest): Int32Array {
  const ids = tokenizer.encode(reply.text);
  if (reply.isTruncated === true) {
    return ids;
  }
  const stopId = request.sampling.stopIds[0] ?? template.stopIds[0];
  return stopId === undefined ? ids : Int32Array.from([...ids, stopId]);
}

function toLogprobs(ids: Int32Array, seed: number): Float32Array {
  const random = createRandom(seed);
  return Float32Array.from(ids, () => -0.01 - random.next());
}

function checkAborted(request: GenerateRequest): void {
  if (request.signal?.aborted) {
    throw new EngineError('aborted', 'The call was aborted.', { cause: request.signal.reason });
  }
}

/** Waits. An abort does not shorten the wait, because a real engine also notices an abort only between two tokens. */
function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (delayMs === 0) setImmediate(resolve);
    else setTimeout(resolve, delayMs);
  });
}
