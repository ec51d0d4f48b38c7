import { createHash } from 'node:crypto';
import {
  type ChatCall,
  type ChatCompletionBody,
  chatCompletionSchema,
  claimKey,
  parseBody,
  toCallMark,
} from '@agentjet/chat-completions';
import type { ChatModel } from '@agentjet/core';
import { joinReasoning } from './join-reasoning.js';

/** One request of the SDK. */
export interface ClientCall extends ChatCall {
  readonly body: ChatCompletionBody;
  readonly modelName: string;
  isAborted(): boolean;
}

/**
 * Reads a request of the SDK. `keyed` maps each idempotency key of this client to the body that was sent with it.
 * Throws ApiError for a request that cannot be answered.
 */
export function openCall(model: ChatModel, init: RequestInit, keyed: Map<string, string>): ClientCall {
  const headers = new Headers(init.headers);
  const text = typeof init.body === 'string' ? init.body : '{}';
  const sent: unknown = JSON.parse(text);
  const body = parseBody('chat', chatCompletionSchema, sent);
  const key = headers.get('idempotency-key');
  if (key !== null && !key.startsWith(sdksOwn))
    claimKey(keyed, key, createHash('sha256').update(text).digest('base64url'));
  const mark = toCallMark('chat', headers, sent);
  const left = new AbortController();
  const abort = (): void => left.abort(init.signal?.reason);
  if (init.signal?.aborted) abort();
  else init.signal?.addEventListener('abort', abort, { once: true });
  const isHelper = headers.has('x-stainless-helper-method'); // set by `.stream()` and `.runTools()`
  return {
    body,
    modelName: model.name,
    requestId: (choice) => (key === null ? undefined : `${key}#${choice}`),
    generate: async (plain, listeners) => {
      const request = { ...plain, ...mark };
      if (listeners === undefined) return model.generate(request, { signal: left.signal });
      const joined = isHelper ? joinReasoning(listeners.onDelta) : { push: listeners.onDelta, flush: () => {} };
      const response = await model.generate(request, { ...listeners, signal: left.signal, onDelta: joined.push });
      joined.flush();
      return response;
    },
    cancel: (reason) => left.abort(new Error(reason)),
    isAborted: () => init.signal?.aborted === true,
  };
}

/** The prefix of keys that the SDK generates if the caller gives none. Each of these keys belongs to one call. */
const sdksOwn = 'stainless-node-retry-';
