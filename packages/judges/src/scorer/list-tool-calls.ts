import { toArgumentObject, type ChatMessage } from '@agentjet/core';
import type { JudgeContext } from '@agentjet/rollout';

type Called = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly status: 'ok' | 'pending';
  readonly result?: string;
};

/** Returns the conversation in the form that scorers of vitest-evals read: its tool calls, and all of its events. */
export function listToolCalls(transcripts: JudgeContext['transcripts']): {
  readonly toolCalls: readonly Called[];
  readonly session: { readonly events: readonly object[] };
} {
  const toolCalls = transcripts.flatMap(({ messages }) => callsWithResults(messages));
  return { toolCalls, session: { events: transcripts.flatMap(({ messages }) => messages.flatMap(toEvents)) } };
}

/** Ids of calls are unique in one agent's conversation only. */
function callsWithResults(messages: readonly ChatMessage[]): readonly Called[] {
  const results = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each.content]] : [])));
  return messages.flatMap(callsOf).map(({ id, name, arguments: text }): Called => {
    const result = results.get(id);
    const called = { name, arguments: toArgumentObject(text) };
    return result === undefined ? { ...called, status: 'pending' } : { ...called, status: 'ok', result };
  });
}

const callsOf = (message: ChatMessage) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []);

function toEvents(message: ChatMessage): readonly object[] {
  const { role, content } = message;
  if (role === 'tool') return [{ type: 'tool_result', toolCallId: message.toolCallId, content }];
  const calls = callsOf(message).map(({ id, name, arguments: text }) => {
    return { type: 'tool_call', id, name, arguments: toArgumentObject(text) };
  });
  return [...(content === '' && calls.length > 0 ? [] : [{ type: 'message', role, content }]), ...calls];
}
