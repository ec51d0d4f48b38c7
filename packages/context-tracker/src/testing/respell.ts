import type { AssistantMessage, ChatMessage, ToolCall } from '@agentjet/core';

/** Changes that frameworks make to an assistant's message before they send it back. */
export const spellings = ['json', 'keys', 'trim', 'space', 'no reasoning', 'reasoning in text', 'name'] as const;
export type Spelling = (typeof spellings)[number];

export function respell(message: ChatMessage, how: Spelling): ChatMessage {
  return message.role === 'assistant' ? respellAnswer(message, how) : message;
}

function respellAnswer(message: AssistantMessage, how: Spelling): AssistantMessage {
  const { reasoning, ...rest } = message;
  if (how === 'json') return withArguments(message, (written) => JSON.stringify(written));
  if (how === 'keys')
    return withArguments(message, (written) => JSON.stringify(Object.fromEntries(Object.entries(written).reverse())));
  if (how === 'trim') return { ...message, content: message.content.trim() };
  if (how === 'space') return { ...message, content: `\n${message.content} ` };
  if (how === 'no reasoning') return rest;
  if (how === 'reasoning in text')
    return reasoning === undefined
      ? message
      : { ...rest, content: `<think>\n${reasoning}\n</think>\n\n${message.content}` };
  return { ...message, name: 'assistant' };
}

function withArguments(message: AssistantMessage, print: (written: object) => string): AssistantMessage {
  const { toolCalls } = message;
  return toolCalls === undefined
    ? message
    : { ...message, toolCalls: toolCalls.map((call) => ({ ...call, arguments: reprint(call, print) })) };
}

function reprint({ arguments: written }: ToolCall, print: (written: object) => string): string {
  try {
    return print(JSON.parse(written) as object);
  } catch {
    return '{}'; // frameworks that parse arguments send this if the arguments cannot be parsed
  }
}

/**
 * Merges all turns between two questions into one message, followed by their results, as Mastra and AgentScope store
 * history.
 */
export function mergeTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const end = findEndOfRun(messages, at);
    merged.push(...(end > at ? mergeRun(messages.slice(at, end)) : messages.slice(at, at + 1)));
    at = Math.max(end, at + 1);
  }
  return merged;
}

function findEndOfRun(messages: readonly ChatMessage[], start: number): number {
  if (messages[start]?.role !== 'assistant') return start;
  const next = messages.findIndex(({ role }, at) => at > start && (role === 'user' || role === 'system'));
  return next === -1 ? messages.length : next;
}

function mergeRun(run: readonly ChatMessage[]): readonly ChatMessage[] {
  const answers = run.filter((message) => message.role === 'assistant');
  const content = answers
    .map((answer) => answer.content)
    .filter((text) => text !== '')
    .join('\n');
  const toolCalls = answers.flatMap((answer) => answer.toolCalls ?? []);
  return [
    { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) },
    ...run.filter(({ role }) => role === 'tool'),
  ];
}
