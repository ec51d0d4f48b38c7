import { toArgumentObject } from '@agentjet/core';
import type { SpanValues } from './span.js';

/** A message as it appears in spans. */
export type SpanMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly reasoning?: string;
  readonly calls?: readonly SpanCall[];
  /** The call that a result of a tool answers. */
  readonly callId?: string;
};

export type SpanCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** Writes messages twice: by the `gen_ai.*` conventions of OpenTelemetry, and by those of OpenInference. */
export function toMessageValues(
  side: 'input' | 'output',
  messages: readonly SpanMessage[],
  finish?: string,
): SpanValues {
  const last = messages.at(-1);
  return {
    [`gen_ai.${side}.messages`]: JSON.stringify(messages.map((message) => toGenAi(message, finish))),
    ...Object.fromEntries(
      messages.flatMap((message, at) => toOpenInference(`llm.${side}_messages.${at}.message`, message)),
    ),
    ...(last !== undefined && { [`${side}.value`]: last.content, [`${side}.mime_type`]: 'text/plain' }),
  };
}

function toGenAi({ role, content, reasoning, calls = [], callId }: SpanMessage, finish: string | undefined): object {
  const parts =
    role === 'tool'
      ? [{ type: 'tool_call_response', id: callId, response: content }]
      : [
          ...(reasoning === undefined ? [] : [{ type: 'reasoning', content: reasoning }]),
          ...(content === '' && calls.length > 0 ? [] : [{ type: 'text', content }]),
          ...calls.map(({ id, name, arguments: text }) => ({
            type: 'tool_call',
            id,
            name,
            arguments: toArgumentObject(text),
          })),
        ];
  return { role, parts, ...(finish !== undefined && { finish_reason: finish }) };
}

function toOpenInference(prefix: string, { role, content, calls = [], callId }: SpanMessage): [string, string][] {
  return [
    [`${prefix}.role`, role],
    [`${prefix}.content`, content],
    ...(callId === undefined ? [] : [[`${prefix}.tool_call_id`, callId] as [string, string]]),
    ...calls.flatMap(({ id, name, arguments: text }, at): [string, string][] => [
      [`${prefix}.tool_calls.${at}.tool_call.id`, id],
      [`${prefix}.tool_calls.${at}.tool_call.function.name`, name],
      [`${prefix}.tool_calls.${at}.tool_call.function.arguments`, text],
    ]),
  ];
}
