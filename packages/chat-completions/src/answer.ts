import { randomUUID } from 'node:crypto';
import type { ChatOptions, ChatRequest, ChatResponse } from '@agentjet/core';
import { PendingLogprobs } from './pieces.js';
import { type ChatCompletionBody, customNames, toChatRequest } from './request.js';
import {
  type CompletionChunk,
  type CompletionBody,
  type Head,
  toChatCompletion,
  toDeltaChunks,
  toFirstChunk,
  toLastChunk,
  toUsageChunk,
} from './response.js';

/** The listeners of a streamed call. */
export type StreamListeners = Pick<Required<ChatOptions>, 'onDelta'> & Pick<ChatOptions, 'onTokens'>;

/** The functions with which a server answers one request. */
export interface ChatCall {
  /**
   * Returns the same id for a client's retry of the same call. Undefined if retries cannot be distinguished from new
   * calls.
   */
  requestId(choice: number): string | undefined;
  generate(request: ChatRequest, listeners?: StreamListeners): Promise<ChatResponse>;
  /** Ends the calls that still run. */
  cancel(reason: string): void;
}

/** Answers a request in one piece. `model` is the name that the answer shows. */
export async function completeChat(call: ChatCall, body: ChatCompletionBody, model: string): Promise<CompletionBody> {
  const responses = await answerAll(call, toAsked(body), (request) => call.generate(request));
  return toChatCompletion(createHead(model), responses, {
    withLogprobs: body.logprobs === true,
    custom: customNames(body),
  });
}

/**
 * Answers a request as a stream. Nothing is sent before the first token, so an error before it can still set the HTTP
 * status.
 */
export async function streamChatCompletion(
  call: ChatCall,
  body: ChatCompletionBody,
  model: string,
  send: (chunk: CompletionChunk) => void,
): Promise<void> {
  const head = createHead(model);
  const custom = customNames(body);
  const responses = await answerAll(call, toAsked(body), async (request, index) => {
    let isOpen = false;
    const open = (): void => {
      if (!isOpen) send(toFirstChunk(head, index));
      isOpen = true;
    };
    const withLogprobs = body.logprobs === true;
    const pending = new PendingLogprobs();
    const response = await call.generate(request, {
      onDelta: (delta) => {
        open();
        const tokens = withLogprobs ? pending.take() : [];
        for (const chunk of toDeltaChunks(head, index, delta, { tokens, custom })) send(chunk);
      },
      ...(withLogprobs && { onTokens: (tokens) => pending.add(tokens) }),
    });
    open();
    send(toLastChunk(head, index, response, withLogprobs ? pending.rest(response) : undefined));
    return response;
  });
  if (body.stream_options?.include_usage === true) send(toUsageChunk(head, responses));
}

function createHead(model: string): Head {
  return { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

function toAsked(body: ChatCompletionBody): AskedAnswers {
  return { request: toChatRequest(body), n: body.n ?? 1 };
}

/** A request, and how many answers it asks for. */
type AskedAnswers = { readonly request: ChatRequest; readonly n: number };

/** Returns the `n` answers. If one fails, the others are cancelled, because the client would never see them. */
export async function answerAll(
  call: ChatCall,
  { request, n }: AskedAnswers,
  answer: (request: ChatRequest, index: number) => Promise<ChatResponse>,
): Promise<readonly ChatResponse[]> {
  const answers = Array.from({ length: n }, async (_none, index) => {
    const requestId = call.requestId(index);
    return answer({ ...request, ...(requestId !== undefined && { requestId }) }, index);
  });
  try {
    return await Promise.all(answers);
  } catch (error) {
    call.cancel('Another answer of the same call failed.');
    throw error;
  }
}
