import { createHash, randomUUID } from 'node:crypto';
import { type ChatDelta, type ChatModel, type ChatResponse, EngineError } from '@agentjet/core';
import type { OpenAI } from 'openai';
import { checkBody } from './check-body.js';
import { toChatRequest, toChoices } from './wire-request.js';
import type { Head } from './wire-response.js';

/** One request of the SDK. */
export type Call = {
  readonly body: OpenAI.ChatCompletionCreateParams;
  readonly head: Head;
  /** 0 to n-1. */
  readonly choices: readonly number[];
  /** `.stream()` or `.runTools()` of the SDK. */
  readonly isHelper: boolean;
  generate(choice: number, onDelta?: (delta: ChatDelta) => void): Promise<ChatResponse>;
  isAborted(): boolean;
  /** Ends the call because nobody reads on. */
  leave(): void;
};

/** `keyed`: the body that each idempotency key of this client was sent with. Throws EngineError for a request that cannot be answered. */
export function openCall(model: ChatModel, init: RequestInit, keyed: Map<string, string>): Call {
  const headers = new Headers(init.headers);
  const text = typeof init.body === 'string' ? init.body : '{}';
  const body = JSON.parse(text) as Call['body'];
  checkBody(body);
  const key = headers.get('idempotency-key');
  if (key !== null && !key.startsWith(sdksOwn)) checkKey(keyed, key, text);
  const left = new AbortController();
  const abort = (): void => left.abort(init.signal?.reason);
  if (init.signal?.aborted) abort();
  else init.signal?.addEventListener('abort', abort, { once: true });
  return {
    body,
    head: { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: model.name },
    choices: toChoices(body),
    isHelper: headers.has('x-stainless-helper-method'),
    generate: async (choice, onDelta) => {
      const request = toChatRequest(body, key === null ? undefined : `${key}#${choice}`);
      return model.generate(request, { signal: left.signal, ...(onDelta !== undefined && { onDelta }) });
    },
    isAborted: () => init.signal?.aborted === true,
    leave: () => left.abort(new Error('The reader left the stream.')),
  };
}

/** How the keys begin that the SDK makes where the caller gives none; each is for one call. */
const sdksOwn = 'stainless-node-retry-';

function checkKey(keyed: Map<string, string>, key: string, text: string): void {
  const hash = createHash('sha256').update(text).digest('base64url');
  if ((keyed.get(key) ?? hash) !== hash) throw new EngineError('idempotency_key_reused', `The idempotency key '${key}' was used with another request. Use a new key for each call.`);
  keyed.set(key, hash);
}

/** All answers of a call; where one fails, the others are of no use. */
export async function allOrLeave(call: Call, one: (choice: number) => Promise<ChatResponse>): Promise<readonly ChatResponse[]> {
  try {
    return await Promise.all(call.choices.map(one));
  } catch (error) {
    call.leave();
    throw error;
  }
}
