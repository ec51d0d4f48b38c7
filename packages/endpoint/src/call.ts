import { hash as digest, randomUUID } from 'node:crypto';
import {
  claimKey,
  countPromptTokens,
  markRequest,
  createEventStreamResponse,
  type ProtocolCall,
  toCallMark,
} from '@agentjet/chat-completions';
import {
  type ChatDelta,
  type ChatModel,
  type ChatOptions,
  type ChatRequest,
  type ChatResponse,
  replayDeltas,
} from '@agentjet/core';
import type { Protocol } from '@agentjet/core/parameters';
import type { RouteClock } from '@agentjet/rollout';
import { noteRefusals } from './note-refusals.js';
import { gatherTools } from './responses/tools.js';
import { endedEpisode, type EndpointSession } from './session.js';
import { createSlowJsonResponse } from './slow-json.js';

export type Timing = { readonly graceMs: number; readonly heartbeatMs: number };

/** A request as it arrived. */
export type Incoming = {
  readonly request: Request;
  readonly protocol: Protocol;
  /** The body as it was sent. */
  readonly text: string;
  readonly body: unknown;
  /** Closes the connection after the bytes written so far have been sent. */
  readonly breakOff: () => void;
  /** Measures the time in which the model works on the request. */
  readonly clock?: RouteClock | undefined;
};

/**
 * One authenticated HTTP call: its body, the model that it may reach, and functions that answer it. All protocols use
 * it.
 */
export interface Call extends ProtocolCall {
  readonly session: EndpointSession;
  /** Returns the same id for a client's retry of the same body, so a retry never makes a second sample. */
  requestId(choice: number): string;
}

export function createCall(session: EndpointSession, incoming: Incoming, timing: Timing): Call {
  const { request, protocol, body, breakOff, clock } = incoming;
  const left = new AbortController();
  const cancel = (reason: string): void => left.abort(new Error(reason));
  const leave = (): void => cancel('The client went away.');
  const callId = identify(session, incoming);
  const mark = toCallMark(protocol, request.headers, protocol === 'responses' ? gatherTools(body) : body);
  return {
    session,
    url: new URL(request.url),
    body,
    requestId: (choice) => `${callId}:${choice}`,
    generate: async (chatRequest, listeners) => {
      if (session.signal.aborted) throw endedEpisode();
      const endWait = clock?.begin();
      const answer = generate(session.model, markRequest(chatRequest, mark), { signal: left.signal, ...listeners });
      // The signals of the call and of the episode are not combined, because a combined signal would stay attached to
      // the episode's signal until the episode ends.
      return whileRunning(session.signal, answer, () => left.abort(session.signal.reason)).finally(endWait);
    },
    countPromptTokens: async (chatRequest) => {
      if (session.signal.aborted) throw endedEpisode();
      return countPromptTokens(session.model, chatRequest);
    },
    cancel,
    respondJson: async (pending, { toErrorBody }) => {
      const answer = whileRunning(
        request.signal,
        noteRefusals(session, () => pending),
        leave,
      );
      return createSlowJsonResponse(answer, { ...timing, cancel: leave, breakOff, toErrorBody });
    },
    respondEvents: async (produce, protocol) =>
      createEventStreamResponse(
        (stream) =>
          whileRunning(
            request.signal,
            noteRefusals(session, () => produce(stream)),
            leave,
          ),
        {
          ...protocol,
          cancel: leave,
          heartbeatMs: timing.heartbeatMs,
        },
      ),
  };
}

/**
 * Calls `leave` if the signal aborts before the answer is complete: the client left, or the episode ended. The listener
 * is removed as soon as the answer is complete. Otherwise Node would keep the request's signal alive, and the listener
 * would keep the whole episode in memory.
 */
async function whileRunning<T>(signal: AbortSignal, answer: Promise<T>, leave: () => void): Promise<T> {
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  try {
    return await answer;
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

/**
 * Asks the model for an answer. If the client wants a stream and the model answers in one piece, as a debug model may,
 * the answer is sent as deltas.
 */
async function generate(
  model: ChatModel,
  request: ChatRequest,
  { signal, onDelta, ...others }: ChatOptions & { readonly signal: AbortSignal },
): Promise<ChatResponse> {
  if (onDelta === undefined) return model.generate(request, { signal });
  let hasStreamed = false;
  const pass = (delta: ChatDelta): void => {
    hasStreamed = true;
    onDelta(delta);
  };
  const response = await model.generate(request, { ...others, signal, onDelta: pass });
  if (!hasStreamed) replayDeltas(response, { onDelta });
  return response;
}

/**
 * Returns the id of the call. Requests with the same idempotency key are the same call. A request with the SDKs' retry
 * header is the same call as the newest request with this body.
 */
function identify(session: EndpointSession, { request, text }: Incoming): string {
  const hash = digest('sha256', `${new URL(request.url).pathname}\n${text}`, 'base64url');
  const key = request.headers.get('idempotency-key');
  if (key !== null) {
    claimKey(session.keyedBodies, key, hash);
    return `key-${key}`;
  }
  const known =
    Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0 ? session.requestIds.get(hash) : undefined;
  const callId = known ?? randomUUID();
  session.requestIds.set(hash, callId);
  return callId;
}
