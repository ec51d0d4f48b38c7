import type { AssistantMessage, ChatMessage, ChatRequest } from '@agentjet/core';

/** Reads what an agent's request shows to its model. */

/** Returns the last message of the user, or an empty string. */
export const lastQuestion = ({ messages }: ChatRequest): string =>
  messages.findLast(({ role }) => role === 'user')?.content ?? '';

export const systemText = ({ messages }: ChatRequest): string =>
  messages.flatMap(({ role, content }) => (role === 'system' ? [content] : [])).join('\n');

/**
 * Returns the answers of the example turns in the first request of an episode: for each example, the messages of the
 * assistant.
 */
export function exampleAnswers({ messages }: ChatRequest): readonly (readonly AssistantMessage[])[] {
  const examples: AssistantMessage[][] = [];
  let current: AssistantMessage[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') current.push(message);
    if (message.role !== 'user' || current.length === 0) continue;
    examples.push(current);
    current = [];
  }
  return examples;
}

/** Returns the alternatives that a message lists, such as "up, down, left or right". The last list counts. */
export function listedOptions({ messages }: ChatRequest): readonly string[] {
  const text = messages
    .filter(isRead)
    .map(({ content }) => content)
    .join('\n');
  const lists = [...text.matchAll(/[\p{L}\p{N}'_-]+(?:, ?[\p{L}\p{N}'_-]+)*,? or [\p{L}\p{N}'_-]+/gu)];
  const last = lists.at(-1)?.[0];
  return last === undefined ? [] : last.split(/,? or |, ?/u);
}

export function wordsOf({ messages }: ChatRequest): readonly string[] {
  return messages.filter(isRead).flatMap(({ content }) => content.match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** Returns the tags that the prompt asks for, such as `reasoning` and `answer`, in their order. */
export function namedTags({ messages }: ChatRequest): readonly string[] {
  const found = messages.filter(isRead).flatMap(({ content }) => [...content.matchAll(/<([a-z][\w-]*)>/gi)]);
  return [...new Set(found.flatMap(([, name]) => name ?? []))];
}

/** Returns the last JSON object that the prompt shows, or an empty string. */
export function shownJson({ messages }: ChatRequest): string {
  const found = messages.filter(isRead).flatMap(({ content }) => content.match(/\{[^{}]*\}/g) ?? []);
  return found.at(-1) ?? '';
}

const isRead = ({ role }: ChatMessage): boolean => role === 'system' || role === 'user';
