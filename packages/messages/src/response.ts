import { type EventStream, inPieces } from '@agentjet/chat-completions';
import {
  type ChatDelta,
  type ChatResponse,
  type JsonObject,
  toArgumentObject,
  type TokenUsage,
  type ToolCall,
} from '@agentjet/core';

const stopReasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const;

function toStop({ finishReason, stopText }: ChatResponse): {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
} {
  const isStopped = finishReason === 'stop' && stopText !== undefined;
  return isStopped
    ? { stop_reason: 'stop_sequence', stop_sequence: stopText }
    : { stop_reason: stopReasons[finishReason], stop_sequence: null };
}

const toolUse = (call: ToolCall, input: JsonObject) => ({ type: 'tool_use', id: call.id, name: call.name, input });

export function toAnthropicMessage(id: string, model: string, response: ChatResponse): unknown {
  const { message, usage } = response;
  const toolCalls = message.toolCalls ?? [];
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(message.reasoning === undefined ? [] : [{ type: 'thinking', thinking: message.reasoning, signature: '' }]),
      ...(message.content === '' && toolCalls.length > 0 ? [] : [{ type: 'text', text: message.content }]),
      ...toolCalls.map((call) => toolUse(call, toArgumentObject(call.arguments))),
    ],
    ...toStop(response),
    usage: toUsage(usage),
  };
}

function toUsage({ promptTokens, completionTokens }: TokenUsage) {
  return {
    input_tokens: promptTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: completionTokens,
  };
}

/**
 * Converts deltas to Anthropic's block events. The first event comes with the first delta, so an error before it can
 * still set the status.
 */
export function createMessageWriter(stream: EventStream, id: string, model: string) {
  let index = -1;
  let isStarted = false;
  let open: 'text' | 'thinking' | undefined;
  const send = (type: string, fields: object): void => stream.send({ type, ...fields }, type);

  const close = (): void => {
    if (open === 'thinking') send('content_block_delta', { index, delta: { type: 'signature_delta', signature: '' } });
    if (open !== undefined) send('content_block_stop', { index });
    open = undefined;
  };
  const begin = (): void => {
    if (isStarted) return;
    isStarted = true;
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    send('message_start', { message: { ...message, usage: toUsage({ promptTokens: 0, completionTokens: 0 }) } });
  };
  const start = (block: object): void => {
    begin();
    close();
    index += 1;
    send('content_block_start', { index, content_block: block });
  };
  const writeText = (kind: 'text' | 'thinking', text: string): void => {
    if (open !== kind) {
      start(kind === 'text' ? { type: 'text', text: '' } : { type: 'thinking', thinking: '', signature: '' });
      open = kind;
    }
    send('content_block_delta', {
      index,
      delta: kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text },
    });
  };
  const writeCall = (call: ToolCall): void => {
    start(toolUse(call, {}));
    for (const partial_json of inPieces(JSON.stringify(toArgumentObject(call.arguments))))
      send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } });
    send('content_block_stop', { index });
  };

  return {
    delta: (delta: ChatDelta): void => {
      if (delta.type === 'tool_call') writeCall(delta.toolCall);
      else writeText(delta.type === 'content' ? 'text' : 'thinking', delta.text);
    },
    finish(response: ChatResponse): void {
      begin();
      close();
      const { usage } = response;
      send('message_delta', {
        delta: toStop(response),
        usage: toUsage(usage),
      });
      send('message_stop', {});
    },
  };
}
