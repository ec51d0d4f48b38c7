import { EngineError, type ChatModel, type ChatRequest } from '@agentjet/core';
import { createChatModel, systemModelHost } from '@agentjet/model-client';
import { toStepId } from '@agentjet/rollout';
import { newId, type ClientHost } from '../host.js';
import { pause } from '../protocol/retry.js';

/**
 * The tuned model of an agent, behind the address that the server gave to its episode. It answers as the model in the server's
 * own process does: same errors, same streams, same aborts. A call is repeated with one id for as long as the server is away,
 * so an outage of the server costs time and never a second sample.
 */
export type RemoteModelOptions = {
  readonly host: ClientHost;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Of one agent, with `/v1` at its end. */
  readonly address: string;
  readonly key: string;
  readonly name: string;
  /** A connection that says nothing for so long is given up, and the call sent again. The server sends a sign of life every 15 s. */
  readonly silenceMs?: number;
  /** Called before a wait for a server that is away. */
  readonly onAway?: ((message: string, waitMs: number) => void) | undefined;
  /** Called after each answer that is trained, with the id of its call. */
  readonly onTurn?: ((callId: string) => void) | undefined;
  /** The server says that the episode is over. */
  readonly onGone?: ((message: string) => void) | undefined;
  /** The server does not train this agent's target. */
  readonly onNotTrained?: ((message: string) => void) | undefined;
};

/** Calls reject with EngineError, as those of `createTunedModel` do. An answer has the id of its call. */
export function createRemoteModel(options: RemoteModelOptions): ChatModel {
  const { host, address, key, name, silenceMs = 60_000, onAway, onTurn, onGone, onNotTrained } = options;
  const model = createChatModel(
    {
      baseUrl: address,
      key: { value: key, name: 'the episode' },
      name,
      retries: { maxRetries: Infinity, firstGapMs: 100, longestGapMs: 5000, onRetry: onAway },
      silenceMs,
      idOf: (request) => (request.requestId === undefined ? newId(host) : toStepId(request.requestId, request)),
      more: (request) => toFields(request, name),
      describe: ({ message, reason }) => reason.said ?? message,
    },
    {
      ...systemModelHost,
      ...host,
      sleep: (ms, signal) => pause(host, ms, signal),
      fetch: (url, init) => options.fetch(url, { ...init, redirect: 'follow' }),
    },
  );
  return {
    name,
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

/** The server samples as it is configured unless a request says otherwise, so that a limit which is switched off is said, too. */
function toFields(request: ChatRequest, name: string) {
  return {
    body: { model: request.model ?? name, top_k: request.sampling?.topK },
    ...(request.isTrained === false && { headers: { 'x-ajet-train': 'false' } }),
  };
}
