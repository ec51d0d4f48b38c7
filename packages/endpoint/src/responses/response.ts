import { randomUUID } from 'node:crypto';
import {
  countReasoningTokens,
  type EventStream,
  inPieces,
  PendingLogprobs,
  readCustomInput,
  type ApiError,
} from '@agentjet/chat-completions';
import type { ChatDelta, ChatResponse, ToolCall } from '@agentjet/core';
import type { ResponsesBody } from './request.js';
import type { ResponseTools, WireName } from './tools.js';

export type OutputItem = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

/** How the answer to one request is written. */
export type ResponseView = { readonly tools: Pick<ResponseTools, 'toWireName'>; readonly withLogprobs: boolean };

type Logprobs = NonNullable<ChatResponse['logprobs']>;

const textPart = (text: string, logprobs: Logprobs = []) => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: logprobs.map(toWireLogprob),
});

const toWireLogprob = ({ text, logprob }: Logprobs[number]) => ({
  token: text,
  logprob,
  bytes: text.includes('\uFFFD') ? null : [...Buffer.from(text)],
  top_logprobs: [],
});

const thoughtPart = (text: string) => ({ type: 'reasoning_text', text });

const messageItem = (id: string, text: string, status: string, logprobs?: Logprobs): OutputItem => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content: status === 'in_progress' ? [] : [textPart(text, logprobs)],
});

const reasoningItem = (id: string, text: string): OutputItem => ({
  id,
  type: 'reasoning',
  summary: [],
  content: text === '' ? [] : [thoughtPart(text)],
});

const callItem = (call: ToolCall, { name, namespace, isCustom }: WireName, status: string): OutputItem => {
  const text = status === 'in_progress' ? '' : call.arguments;
  const said = isCustom === true ? { input: readCustomInput(text) } : { arguments: text };
  return {
    id: `${isCustom === true ? 'ctc' : 'fc'}_${randomUUID()}`,
    type: isCustom === true ? 'custom_tool_call' : 'function_call',
    call_id: call.id,
    name,
    ...(namespace !== undefined && { namespace }),
    ...said,
    status,
  };
};

export function toOutputItems(
  { message, logprobs }: ChatResponse,
  { tools, withLogprobs }: ResponseView,
): OutputItem[] {
  const status = 'completed';
  return [
    ...(message.reasoning === undefined ? [] : [reasoningItem(`rs_${randomUUID()}`, message.reasoning)]),
    ...(message.content === '' && message.toolCalls !== undefined
      ? []
      : [messageItem(`msg_${randomUUID()}`, message.content, status, withLogprobs ? logprobs : [])]),
    ...(message.toolCalls ?? []).map((call) => callItem(call, tools.toWireName(call.name), status)),
  ];
}

type ResponseHead = { readonly id: string; readonly created_at: number };

export function toResponseBody(
  head: ResponseHead,
  body: ResponsesBody,
  result?: { readonly response: ChatResponse; readonly output: readonly OutputItem[] },
): unknown {
  const truncated = result?.response.finishReason === 'length';
  const usage = result?.response.usage;
  return {
    ...head,
    object: 'response',
    status: result === undefined ? 'in_progress' : truncated ? 'incomplete' : 'completed',
    incomplete_details: truncated ? { reason: 'max_output_tokens' } : null,
    error: null,
    model: body.model,
    output: result?.output ?? [],
    instructions: body.instructions ?? null,
    previous_response_id: body.previous_response_id ?? null,
    tools: body.tools ?? [],
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? null,
    top_p: body.top_p ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    background: false,
    reasoning: { effort: null, summary: null, ...body.reasoning },
    service_tier: body.service_tier ?? null,
    store: body.store ?? true,
    text: { ...body.text, format: body.text?.format ?? { type: 'text' } },
    top_logprobs: 0,
    truncation: 'disabled',
    user: body.user ?? null,
    usage:
      usage === undefined
        ? null
        : {
            input_tokens: usage.promptTokens,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: usage.completionTokens,
            output_tokens_details: {
              reasoning_tokens: result === undefined ? 0 : countReasoningTokens(result.response),
            },
            total_tokens: usage.promptTokens + usage.completionTokens,
          },
  };
}

export function toFailedBody(head: ResponseHead, body: ResponsesBody, { code, message }: ApiError): unknown {
  return { ...(toResponseBody(head, body) as object), status: 'failed', error: { code, message } };
}

const toPart = (type: 'message' | 'reasoning', text: string) =>
  type === 'message' ? textPart(text) : thoughtPart(text);

/** Returns the events of a call's arguments, or of a custom tool's text: first in pieces, then whole. */
function callEvents(call: ToolCall, { name, isCustom }: WireName): readonly ({ readonly type: string } & object)[] {
  const kind = isCustom === true ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  const text = isCustom === true ? readCustomInput(call.arguments) : call.arguments;
  const whole = isCustom === true ? { input: text } : { name, arguments: text };
  return [...inPieces(text).map((delta) => ({ type: `${kind}.delta`, delta })), { type: `${kind}.done`, ...whole }];
}

/** Converts deltas to the event sequence of the Responses API. `finish` closes open items and returns all items. */
export function createResponseWriter({ tools, withLogprobs }: ResponseView) {
  let stream: EventStream | undefined;
  let sequence = 0;
  const output: OutputItem[] = [];
  const pending = new PendingLogprobs();
  let open: { readonly type: 'message' | 'reasoning'; readonly id: string; text: string } | undefined;
  const send = (type: string, fields: object): void =>
    stream?.send({ type, sequence_number: sequence++, ...fields }, type);
  const place = (id: string) => ({ item_id: id, output_index: output.length, content_index: 0 });

  /** Closes the open item. The closing events of a message have the logprobs of all its tokens. */
  const close = (logprobs: Logprobs = []): void => {
    if (open === undefined) return;
    const { id, text, type } = open;
    const done = type === 'message' ? messageItem(id, text, 'completed', logprobs) : reasoningItem(id, text);
    if (type === 'message')
      send('response.output_text.done', { ...place(id), text, logprobs: logprobs.map(toWireLogprob) });
    else send('response.reasoning_text.done', { ...place(id), text });
    send('response.content_part.done', { ...place(id), part: toPart(type, text) });
    send('response.output_item.done', { output_index: output.length, item: done });
    output.push(done);
    open = undefined;
  };

  const ensureOpen = (type: 'message' | 'reasoning'): { readonly id: string; text: string } => {
    if (open?.type === type) return open;
    close();
    open = { type, id: `${type === 'message' ? 'msg' : 'rs'}_${randomUUID()}`, text: '' };
    const item = type === 'message' ? messageItem(open.id, '', 'in_progress') : reasoningItem(open.id, '');
    send('response.output_item.added', { output_index: output.length, item });
    send('response.content_part.added', { ...place(open.id), part: toPart(type, '') });
    return open;
  };

  const writeText = (type: 'message' | 'reasoning', text: string): void => {
    const item = ensureOpen(type);
    item.text += text;
    if (type === 'message') {
      const logprobs = pending.take().map(toWireLogprob);
      send('response.output_text.delta', { ...place(item.id), delta: text, logprobs });
    } else send('response.reasoning_text.delta', { ...place(item.id), delta: text });
  };

  const writeCall = (call: ToolCall): void => {
    close();
    const wireName = tools.toWireName(call.name);
    const begun = callItem(call, wireName, 'in_progress');
    const { content_index: _unused, ...at } = place(begun.id);
    send('response.output_item.added', { output_index: output.length, item: begun });
    for (const { type, ...fields } of callEvents(call, wireName)) send(type, { ...at, ...fields });
    const done = { ...callItem(call, wireName, 'completed'), id: begun.id };
    send('response.output_item.done', { output_index: output.length, item: done });
    output.push(done);
  };

  return {
    send,
    start(opened: EventStream, response: unknown): void {
      stream = opened;
      send('response.created', { response });
      send('response.in_progress', { response });
    },
    /** Keeps the logprobs and sends them with the next text. The answer that `finish` gets has all of them. */
    tokens: (tokens: Logprobs): void => pending.add(tokens),
    delta: (delta: ChatDelta): void => {
      if (delta.type === 'tool_call') writeCall(delta.toolCall);
      else writeText(delta.type === 'content' ? 'message' : 'reasoning', delta.text);
    },
    /**
     * Closes the open item and returns all items. As in `toOutputItems`, an answer without calls has a message, even if
     * it is empty.
     */
    finish({ message, logprobs }: ChatResponse): readonly OutputItem[] {
      if (message.content === '' && message.toolCalls === undefined) ensureOpen('message');
      close(withLogprobs ? logprobs : []);
      return output;
    },
  };
}
