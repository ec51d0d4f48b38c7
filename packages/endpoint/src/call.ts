import { createHash, randomUUID } from 'node:crypto';
import type { ChatDelta, ChatRequest, ChatResponse } from '@agentjet/core';
import { createEventStreamResponse, type EventStream } from './event-stream.js';
import { endedEpisode, type EndpointSession } from './session.js';
import { createSlowJsonResponse } from './slow-json.js';
import type { WireError } from './wire-error.js';

export type Timing = { readonly graceMs: number; readonly heartbeatMs: number };

/** One authenticated HTTP call: its body, the model it may reach, and how to answer. Every protocol speaks to this. */
export type Call = {
  readonly session: EndpointSession;
  readonly body: unknown;
  /** The same for a client's retry of the same body, so that a retry is never a second sample. */
  requestId(choice: number): string;
  generate(request: ChatRequest, onDelta?: (delta: ChatDelta) => void): Promise<ChatResponse>;
  respondJson(pending: Promise<unknown>, toErrorBody: (error: WireError) => unknown): Promise<Response>;
  respondEvents(produce: (stream: EventStream) => Promise<void>, heartbeat?: string): Response;
};

export function createCall(session: EndpointSession, request: Request, body: unknown, timing: Timing): Call {
  const disconnected = new AbortController();
  const cancel = (): void => disconnected.abort();
  request.signal.addEventListener('abort', cancel, { once: true });
  const signal = AbortSignal.any([disconnected.signal, session.signal]);
  const callId = identify(session, request, body);
  return {
    session,
    body,
    requestId: (choice) => `${callId}:${choice}`,
    generate: async (chatRequest, onDelta) => {
      if (session.signal.aborted) throw endedEpisode();
      return session.model.generate(chatRequest, { signal, ...(onDelta !== undefined && { onDelta }) });
    },
    respondJson: (pending, toErrorBody) => createSlowJsonResponse(pending, { ...timing, cancel, toErrorBody }),
    respondEvents: (produce, heartbeat = ': keep-alive\n\n') =>
      createEventStreamResponse(produce, { cancel, heartbeatMs: timing.heartbeatMs, heartbeat }),
  };
}

/** An idempotency key names the call; the SDKs' retry header says that the newest call with this body is meant. */
function identify(session: EndpointSession, request: Request, body: unknown): string {
  const key = request.headers.get('idempotency-key');
  if (key !== null) return `key-${key}`;
  const hash = createHash('sha256').update(JSON.stringify(body)).digest('base64url');
  const known = Number(request.headers.get('x-stainless-retry-count') ?? 0) > 0 ? session.requestIds.get(hash) : undefined;
  const callId = known ?? randomUUID();
  session.requestIds.set(hash, callId);
  return callId;
}
