import { type ChatModel, type ChatRequest, isCountingChatModel } from '@agentjet/core';
import type { Protocol } from '@agentjet/core/parameters';
import type { ChatCall } from './answer.js';
import type { ApiError } from './api-error.js';
import type { EventProtocol, EventStream } from './event-stream.js';

/**
 * One request to one address of an API. The endpoint implements it over HTTP, and adapters implement it in process, so
 * each API is written once.
 */
export interface ProtocolCall extends ChatCall {
  readonly url: URL;
  readonly body: unknown;
  /** Counts the tokens of the prompt, exactly or as an estimate: see `countPromptTokens`. */
  countPromptTokens(request: ChatRequest): Promise<number>;
  respondJson(pending: Promise<unknown>, protocol: Pick<EventProtocol, 'toErrorBody'>): Promise<Response>;
  respondEvents(produce: (stream: EventStream) => Promise<void>, protocol: EventProtocol): Promise<Response>;
}

/** One address of an API, for requests with a body. */
export type ApiRoute<C = ProtocolCall> = {
  readonly protocol: Protocol;
  /** A path whose segments may be parameters, such as `/v1beta/models/:call`. */
  readonly path: string;
  readonly handle: (call: C) => Promise<Response>;
  /** Adds what the address says to the body, such as the name of the model. */
  readonly complete?: (body: unknown, url: URL) => unknown;
};

/** An API: its addresses and the form of its errors. */
export type Api<C = ProtocolCall> = {
  readonly routes: readonly ApiRoute<C>[];
  /** Matches the paths whose errors have the form of this API, with an address or without. */
  readonly paths: RegExp;
  readonly toErrorBody: (error: ApiError) => unknown;
  /** The descriptions of the model by its name, as a list at each path and alone below it. */
  readonly models?: {
    readonly paths: readonly string[];
    /** A header that only clients of this API send, if other APIs have the same path. */
    readonly header?: string;
    readonly list: (name: string) => unknown;
    readonly show: (name: string) => unknown;
  };
};

/**
 * Counts the tokens of a prompt. The model of an agent that does not learn may not be able to count. Then one token is
 * estimated per four characters.
 */
export async function countPromptTokens(model: ChatModel, request: ChatRequest): Promise<number> {
  return isCountingChatModel(model)
    ? model.countPromptTokens(request)
    : Math.ceil(JSON.stringify([request.messages, request.tools]).length / 4);
}
