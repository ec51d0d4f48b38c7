import { ownTurn } from '../episode/own-turn.js';
import {
  abortedByCaller,
  deriveSeed,
  EngineError,
  rejectOnAbort,
  replayDeltas,
  toErrorMessage,
  type ChatDelta,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  type Completion,
  type CountingChatModel,
  type Engine,
  type LimitedChatModel,
  type TokenLogprob,
  type TokenSampling,
} from '@agentjet/core';
import type { AgentIdentity, CallTimes, CommittedTurn, ContextTracker, Turn } from '@agentjet/context-tracker';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { SamplingDefaults } from '../contract.js';
import type { CallLedger } from './call-ledger.js';
import { checkRequestSize } from './check-request-size.js';
import { rejectPaced } from './reject-paced.js';
import { hashPrompt, untrainedIndex, type RecordedCall, toShown } from './recorded-call.js';
import { printRequest, type RequestPrint, requireSameRequest, toStepId } from './request-print.js';
import { type RequestSampling, resolveSampling } from './sampling.js';
import { isNamed } from './is-named.js';
import { checkOpen, linkSignals } from './signals.js';
import { createStopFilter, createStopSearch, cutAtStop } from './stop-text.js';

/**
 * The model that learns. It takes and returns messages. A tracker turns the messages into tokens, and an engine
 * continues the tokens. A call has three steps: begin, generate and commit. A call that ends before its commit leaves
 * nothing in the record.
 */
export type TunedChatOptions = {
  readonly agent: AgentIdentity;
  readonly tracker: ContextTracker;
  readonly engine: Engine;
  readonly chatTokenizer: ChatTokenizer;
  readonly sampling: SamplingDefaults;
  /** Passed to the engine with each call. */
  readonly episodeId?: string | undefined;
  /** Shared by all models of the episode. */
  readonly ledger: CallLedger;
  /** The episode's seed. The seed of each call is derived from this seed, the agent's name and the call's number. */
  readonly seed: number;
  /** Aborts when the episode ends. Its reason says why the episode ended. */
  readonly signal: AbortSignal;
  readonly modelName?: string;
  /** The setting that error messages name as the context limit. Default: `rollout.max_model_len`. */
  readonly contextSetting?: string | undefined;
  /** Patterns such as `*haiku*`. Calls that ask for a model with a matching name are not trained. */
  readonly untrainedModels?: readonly string[];
  /** Default: `honour`. Calls that are not trained get the options that they ask for. */
  readonly requestSampling?: RequestSampling | undefined;
  /** Returns the milliseconds since the episode began. Without it, calls have no times. */
  readonly elapsedMs?: (() => number) | undefined;
  /** Called with each turn that is trained. */
  readonly onTurn?: ((turnId: string) => void) | undefined;
  /** Called with each answered call, in the same turn of the event loop as its recording. */
  readonly onCall?: ((call: RecordedCall) => void) | undefined;
};

/** Creates the model for an agent whose target learns. Its calls reject with EngineError. */
export function createTunedModel(options: TunedChatOptions): CountingChatModel & LimitedChatModel {
  const name = options.modelName ?? `agentjet/${options.agent.targetTag}`;
  return {
    name,
    limits: { contextLength: options.engine.contextLength, maxTokens: options.sampling.maxTokens },
    generate: (request, callOptions = {}) => {
      const answer = answerOnce(options, name, request, callOptions).catch((error: unknown) =>
        rejectPaced(options.signal, error),
      );
      // This prevents an unhandled rejection. A caller that awaits the answer still gets the error. If the workflow has
      // ended, nobody awaits the answer, and its rejection must not crash the process.
      answer.catch(() => {});
      return answer;
    },
    countPromptTokens: async (request) => {
      checkOpen(options.signal);
      checkRequestSize(request, {
        contextLength: options.engine.contextLength,
        contextSetting: options.contextSetting,
        tokenizer: options.chatTokenizer.tokenizer,
      });
      const { shown, opening, chatTokenizer } = toShown(request, options.chatTokenizer);
      return options.tracker.countPromptTokens(options.agent, shown, { opening, chatTokenizer });
    },
  };
}

async function answerOnce(
  options: TunedChatOptions,
  name: string,
  request: ChatRequest,
  callOptions: ChatOptions,
): Promise<ChatResponse> {
  checkAborted(options.signal, callOptions.signal);
  if (request.requestId === undefined) {
    return countedCall(options, name, request, callOptions);
  }
  const key = `${options.agent.agentName}\u0000${toStepId(request.requestId, request)}`;
  const print = printRequest(request);
  for (let earlier = options.ledger.findRepeat(key); earlier !== undefined; earlier = options.ledger.findRepeat(key)) {
    refuseOtherRequest(options, request.requestId, [earlier.print, print]);
    const { signal } = callOptions;
    const response = await rejectOnAbort(
      earlier.answer.catch(() => undefined),
      signal,
      () => signal && abortedByCaller(signal),
    );
    if (response !== undefined) return repeat(options, response, callOptions);
    checkAborted(options.signal, callOptions.signal);
  }
  const answer = countedCall(options, name, request, callOptions);
  options.ledger.remember(key, { print, answer });
  return answer;
}

function refuseOtherRequest(
  { agent, ledger }: TunedChatOptions,
  requestId: string,
  [first, second]: readonly [RequestPrint, RequestPrint],
): void {
  try {
    requireSameRequest(requestId, first, second);
  } catch (error) {
    ledger.countFailure(agent.agentName, error);
    throw error;
  }
}

/** Answers a repeated request with the first call's answer, and emits all of its deltas at once. */
function repeat(options: TunedChatOptions, response: ChatResponse, callOptions: ChatOptions): ChatResponse {
  options.ledger.count('repeated');
  replayDeltas(response, callOptions);
  return response;
}

async function countedCall(
  options: TunedChatOptions,
  name: string,
  request: ChatRequest,
  callOptions: ChatOptions,
): Promise<ChatResponse> {
  try {
    const response = await call(options, name, request, callOptions);
    options.ledger.countAnswer(request, response);
    return response;
  } catch (error) {
    const isAborted = error instanceof EngineError && (error.code === 'aborted' || error.code === 'closed');
    if (isAborted) options.ledger.count('aborted');
    else options.ledger.countFailure(options.agent.agentName, error);
    throw error;
  }
}

async function call(
  options: TunedChatOptions,
  name: string,
  request: ChatRequest,
  callOptions: ChatOptions,
): Promise<ChatResponse> {
  const { agent, tracker, engine, ledger } = options;
  const { contextSetting, elapsedMs } = options;
  const beganMs = elapsedMs?.();
  const { tokenizer } = options.chatTokenizer;
  checkRequestSize(request, { contextLength: engine.contextLength, contextSetting, tokenizer });
  ledger.countIgnored(agent.agentName, request.ignoredParameters ?? []);
  const isTrained = request.isTrained !== false && !isNamed(request.model, options.untrainedModels ?? []);
  const { seed, index } = takeSeed(options, isTrained);
  const { numCommitted } = ledger;
  const { shown, opening, chatTokenizer, ignored: unheard } = toShown(request, options.chatTokenizer);
  ledger.countIgnored(agent.agentName, unheard);
  const turn = tracker.begin(agent, shown, { opening, chatTokenizer });
  const limits = {
    promptTokens: turn.promptIds.length,
    contextLength: engine.contextLength,
    contextSetting,
    stopIds: turn.stopIds,
    seed,
    requestSampling: isTrained ? (options.requestSampling ?? 'honour') : 'honour',
  } as const;
  const { sampling, ignored, isTrainable } = resolveSampling(request, options.sampling, limits);
  ledger.countIgnored(agent.agentName, ignored);
  const sampled = await sample({ ...options, chatTokenizer }, turn, {
    sampling,
    stops: request.sampling?.stop ?? [],
    opening,
    isOneCall: request.parallelToolCalls === false,
    callOptions,
  });
  if (!isTrained) options.ledger.count('untrained');
  const temperature = limits.requestSampling === 'honour' ? sampling.temperature : undefined;
  const committed = isTrained
    ? turn.commit(sampled.completion, {
        temperature,
        isTrained: isTrainable,
        times: toTimes(sampled.completion, beganMs, elapsedMs?.()),
      })
    : turn.read(sampled.completion);
  if (isTrained) options.onTurn?.(turn.id);
  const response = toResponse(name, turn, sampled, committed);
  const commit = isTrained ? ledger.numCommitted++ : null;
  options.onCall?.({
    agent,
    request,
    completion: sampled.completion,
    response,
    turn: turn.index,
    index,
    numCommitted,
    commit,
    temperature,
    isTrainable,
    promptHash: hashPrompt(turn.promptIds),
  });
  // The call waits for a separate turn of the event loop. The engine may have answered many calls at once, and the code
  // of all their agents must not run in one turn.
  await ownTurn();
  return response;
}

function toTimes(
  { timing }: Completion,
  beganMs: number | undefined,
  endedMs: number | undefined,
): CallTimes | undefined {
  if (beganMs === undefined || endedMs === undefined) return undefined;
  if (timing === undefined) return { beganMs, endedMs };
  const { queuedMs: waitedMs, prefillMs: promptMs, decodeMs: samplingMs } = timing;
  return { beganMs, endedMs, waitedMs, promptMs, samplingMs };
}

/**
 * Returns the number and the seed of the next call. Calls that are not trained have separate seeds, so they do not
 * change what the trained calls sample.
 */
function takeSeed(
  { agent: { agentName }, ledger, seed }: TunedChatOptions,
  isTrained: boolean,
): { readonly seed: number; readonly index: number } {
  const index = ledger.takeIndex(isTrained ? agentName : untrainedIndex(agentName));
  return {
    index,
    seed: isTrained ? deriveSeed(seed, agentName, index) : deriveSeed(seed, agentName, 'untrained', index),
  };
}

type Sampled = { readonly completion: Completion; readonly stop: string | undefined };
type SampleOptions = {
  readonly sampling: TokenSampling;
  readonly stops: readonly string[];
  readonly opening: string | undefined;
  readonly isOneCall: boolean;
  readonly callOptions: ChatOptions;
};

async function sample(
  options: TunedChatOptions,
  turn: Turn,
  { sampling, stops, opening, isOneCall, callOptions }: SampleOptions,
): Promise<Sampled> {
  const { controller, release } = linkSignals([options.signal, callOptions.signal]);
  const outlet = createOutlet(callOptions, controller);
  const search = createStopSearch(options.chatTokenizer, stops, opening);
  const tokens = createTokenLog(options, callOptions);
  const filter = createStopFilter(stops, (delta) => {
    outlet.run(tokens.tell);
    outlet.emit(delta);
  });
  let hasCall = false;
  const onDelta = (delta: ChatDelta): void => {
    hasCall ||= delta.type === 'tool_call';
    filter.push(delta);
  };
  const stream = callOptions.onDelta === undefined && !isOneCall ? undefined : turn.createStream(onDelta);
  const onToken = (id: number, logprob: number): 'stop' | undefined => {
    tokens.add(id, logprob);
    stream?.push(id);
    return outlet.isBroken() || search.push(id) || (isOneCall && hasCall) ? 'stop' : undefined;
  };
  try {
    const { episodeId } = options;
    const request = {
      promptIds: turn.promptIds,
      sampling,
      ...(episodeId !== undefined && { episodeId }),
      signal: controller.signal,
    };
    const completion = await options.engine.generate(
      stream === undefined && stops.length === 0 ? request : { ...request, onToken },
    );
    checkAborted(options.signal, callOptions.signal);
    search.finish();
    stream?.flush();
    filter.flush(search.found);
    outlet.check();
    return { completion, stop: search.found };
  } catch (error) {
    outlet.check();
    checkAborted(options.signal, callOptions.signal);
    throw toEngineError(error);
  } finally {
    release();
  }
}

/**
 * Calls the caller's `onDelta`, which may throw. If it throws, this call rejects with the same error, and the error
 * does not reach the engine.
 */
function createOutlet(
  { onDelta }: ChatOptions,
  controller: AbortController,
): { emit(delta: ChatDelta): void; run(callback: () => void): void; isBroken(): boolean; check(): void } {
  let thrown: { readonly error: unknown } | undefined;
  const run = (callback: () => void): void => {
    try {
      if (thrown === undefined) callback();
    } catch (error) {
      thrown = { error };
      controller.abort(error);
    }
  };
  return {
    run,
    emit: (delta) => run(() => onDelta?.(delta)),
    isBroken: () => thrown !== undefined,
    check: () => {
      if (thrown !== undefined) throw thrown.error;
    },
  };
}

/** Collects the tokens since the previous delta, for a caller that wants them. */
function createTokenLog(
  { chatTokenizer: { tokenizer } }: TunedChatOptions,
  { onTokens }: ChatOptions,
): { add(id: number, logprob: number): void; tell(): void } {
  let log: TokenLogprob[] = [];
  return {
    add: (id, logprob) => {
      if (onTokens !== undefined) log.push({ id, text: tokenizer.decode([id]), logprob });
    },
    tell: () => {
      const tokens = log;
      log = [];
      if (tokens.length > 0) onTokens?.(tokens);
    },
  };
}

function toResponse(name: string, turn: Turn, { completion, stop }: Sampled, committed: CommittedTurn): ChatResponse {
  return {
    id: turn.id,
    model: name,
    message: cutAtStop(committed.message, stop),
    finishReason: committed.finishReason,
    ...(stop !== undefined && { stopText: stop }),
    usage: { promptTokens: turn.promptIds.length, completionTokens: completion.ids.length },
    logprobs: Array.from(completion.ids, (id, at) => ({
      id,
      text: committed.tokenTexts[at] ?? '',
      logprob: completion.logprobs[at] ?? 0,
    })),
    malformedToolCalls: committed.malformedToolCalls,
  };
}

/** Throws if the episode has ended. Each call gets a new error, which contains the reason. */
function checkAborted(episode: AbortSignal, caller: AbortSignal | undefined): void {
  checkOpen(episode);
  if (caller?.aborted) throw abortedByCaller(caller);
}

function toEngineError(error: unknown): EngineError {
  return error instanceof EngineError
    ? error
    : new EngineError('failed', `The engine failed: ${toErrorMessage(error)}`, { cause: error });
}
