import type { ChatMessage, ChatRequest, ChatResponse } from '@agentjet/core';
import type { RecordedCall } from '@agentjet/rollout';
import { packFloats, packInts, unpackFloats, unpackInts } from '@agentjet/records';

/**
 * The record of a model call. Agents send their whole history with every call, so a record leaves out the messages that
 * it shares with the agent's previous call. `shared` is their number.
 */
export type CallContent = Omit<RecordedCall, 'request' | 'completion' | 'response'> & {
  readonly request: Omit<ChatRequest, 'messages' | 'tools'> & {
    /** The number of leading messages that equal those of the agent's previous record. */
    readonly shared: number;
    readonly messages: readonly ChatMessage[];
    /** Default: the same as in the agent's previous record. */
    readonly tools?: ChatRequest['tools'] | null;
  };
  readonly completion: {
    readonly ids: string;
    readonly logprobs: string;
    readonly finishReason: 'stop' | 'length';
    readonly policyVersion: number;
  };
  readonly response: Omit<ChatResponse, 'logprobs'>;
  /** The text of each generated token. */
  readonly texts: readonly string[];
  /** The hash of the request body, so that a client's retry is recognized after a restart of the server. */
  readonly body?: { readonly hash: string; readonly callId: string };
};

type Before = { readonly messages: readonly ChatMessage[]; readonly tools?: ChatRequest['tools'] | undefined };

const nothing: Before = { messages: [] };

/** Writes and reads the calls of one episode in the order of their records. */
export class CallContents {
  /** The state after each agent's newest record. */
  readonly #before = new Map<string, Before>();

  write(call: RecordedCall, body?: CallContent['body']): CallContent {
    const { request, completion, response, ...rest } = call;
    const { messages, tools, requestId: _requestId, ...asked } = request;
    const { agentName } = call.agent;
    const before = this.#before.get(agentName) ?? nothing;
    const shared = countShared(before.messages, messages);
    // Reuses the earlier messages, so that memory has only one copy of a history.
    this.#before.set(agentName, { messages: [...before.messages.slice(0, shared), ...messages.slice(shared)], tools });
    const { logprobs = [], ...said } = response;
    return {
      ...rest,
      request: {
        ...asked,
        shared,
        messages: messages.slice(shared),
        ...(!isSameTools(tools, before.tools) && { tools: tools ?? null }),
      },
      completion: {
        ids: packInts(completion.ids),
        logprobs: packFloats(completion.logprobs),
        finishReason: completion.finishReason,
        policyVersion: completion.policyVersion,
      },
      response: said,
      texts: logprobs.map(({ text }) => text),
      ...(body !== undefined && { body }),
    };
  }

  /** Reads a record. Call it with all records of the episode, from the first one on. */
  read(content: CallContent): RecordedCall {
    const { request, completion, texts: _texts, body: _body, ...rest } = content;
    const { shared, messages: added, tools: given, ...asked } = request;
    const { agentName } = content.agent;
    const before = this.#before.get(agentName) ?? nothing;
    const messages = [...before.messages.slice(0, shared), ...added];
    const tools = given === undefined ? before.tools : (given ?? undefined);
    const sent = { messages, ...(tools !== undefined && { tools }) };
    this.#before.set(agentName, sent);
    return {
      ...rest,
      temperature: content.temperature ?? undefined,
      request: { ...asked, ...sent },
      completion: {
        ...completion,
        ids: unpackInts(completion.ids),
        logprobs: unpackFloats(completion.logprobs),
      },
      response: toResponse(content),
    };
  }
}

/** Returns the answer that the call got. */
export function toResponse({ response, completion, texts }: CallContent): ChatResponse {
  const ids = unpackInts(completion.ids);
  const logprobs = unpackFloats(completion.logprobs);
  return {
    ...response,
    logprobs: Array.from(ids, (id, at) => ({ id, text: texts[at] ?? '', logprob: logprobs[at] ?? 0 })),
  };
}

function countShared(before: readonly ChatMessage[], now: readonly ChatMessage[]): number {
  const end = now.findIndex((message, at) => !isSame(message, before[at]));
  return end === -1 ? now.length : end;
}

/** Compares messages. Most have only a role and text, which are compared first. */
function isSame(left: ChatMessage, right: ChatMessage | undefined): boolean {
  if (left === right) return true;
  if (left.role !== right?.role || left.content !== right.content) return false;
  return (isBare(left) && isBare(right)) || JSON.stringify(left) === JSON.stringify(right);
}

const isBare = (message: ChatMessage): boolean => Object.keys(message).length === 2;

/** Compares the exact JSON, because a template prints keys in their order. */
const isSameTools = (left: ChatRequest['tools'], right: ChatRequest['tools']): boolean =>
  left === right || JSON.stringify(left) === JSON.stringify(right);
