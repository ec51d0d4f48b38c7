import { EngineError, type ChatRequest, type CountingChatModel, pause } from '@agentjet/core';
import { createChatModel, createPromptCounter, systemModelHost } from '@agentjet/model-client';
import { toStepId } from '@agentjet/rollout';
import { newId, type ClientHost, type HostFetch } from '../host.js';

/**
 * The tuned model of an agent, at the address that the server gave to its episode. It behaves as the model in the
 * server's own process does: the same errors, the same streams, the same aborts. While the server is away, a call is
 * repeated with the same id. So an outage of the server costs time and never makes a second sample.
 */
export type RemoteModelOptions = {
  readonly host: ClientHost;
  readonly fetch: HostFetch;
  /** The address of one agent. It ends in `/v1`. */
  readonly address: string;
  readonly key: string;
  readonly name: string;
  /**
   * A connection that is silent for this long is abandoned, and the call is sent again. The server sends a keep-alive
   * every 15 s.
   */
  readonly silenceMs?: number;
  /** Called before each wait for a server that is away. */
  readonly onAway?: ((message: string, waitMs: number) => void) | undefined;
  /** Called after each answer that is trained, with the id of its call. */
  readonly onTurn?: ((callId: string) => void) | undefined;
  /** Called when the server says that the episode is over. */
  readonly onGone?: ((message: string) => void) | undefined;
  /** Called when the server does not train this agent's target. */
  readonly onNotTrained?: ((message: string) => void) | undefined;
};

/** Calls reject with EngineError, as those of `createTunedModel` do. The id of an answer is the id of its call. */
export function createRemoteModel(options: RemoteModelOptions): CountingChatModel {
  const { host, address, key, name, silenceMs = 60_000, onAway, onTurn, onGone, onNotTrained } = options;
  const server: Parameters<typeof createChatModel>[0] = {
    baseUrl: address,
    key: { value: key, name: 'the episode' },
    name,
    retries: { maxRetries: Infinity, firstGapMs: 100, longestGapMs: 5000, onRetry: onAway },
    silenceMs,
    idOf: (request) => (request.requestId === undefined ? newId(host) : toStepId(request.requestId, request)),
    more: (request) => toFields(request, name),
    describe: ({ message, reason }) => reason.said ?? message,
  };
  const modelHost: Parameters<typeof createChatModel>[1] = {
    ...systemModelHost,
    ...host,
    sleep: (ms, signal) => pause(host, ms, signal),
    fetch: (url, init) => options.fetch(url, { ...init, redirect: 'follow' }),
  };
  const model = createChatModel(server, modelHost);
  return {
    name,
    countPromptTokens: createPromptCounter(server, modelHost),
    async generate(request, callOptions) {
      try {
        const answer = await model.generate(request, callOptions);
        if (request.isTrained !== false) onTurn?.(answer.id);
        return answer;
      } catch (error) {
        if (error instanceof EngineError && error.code === 'closed') onGone?.(error.message);
        if (error instanceof EngineError && error.code === 'target_not_trained') onNotTrained?.(error.message);
        throw error;
      }
    },
  };
}

/**
 * Returns the additional fields that the server expects. `top_k` is sent even if it is 0, which switches the limit off.
 * Otherwise the server would use its configured limit.
 */
function toFields(request: ChatRequest, name: string) {
  return {
    body: { model: request.model ?? name, top_k: request.sampling?.topK },
    ...(request.isTrained === false && { headers: { 'x-ajet-train': 'false' } }),
  };
}
