import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import type { TurnIndex } from './turn-index.js';

/**
 * Puts each result of a recorded turn right after its turn. Some agents send several turns and then all of their
 * results: `answer, answer, result, result`. `before` is the message before these messages. It may be the first answer
 * of such a group.
 */
export function putResultsBack(
  before: ChatMessage | undefined,
  messages: readonly ChatMessage[],
  index: TurnIndex,
): readonly ChatMessage[] {
  const ordered: ChatMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const answers = takeWhile(messages, at, 'assistant');
    const results = takeWhile(messages, at + answers.length, 'tool');
    const first = at === 0 && before?.role === 'assistant' ? [before] : [];
    const run = [...first, ...answers];
    if (run.length < 2 || answers.length === 0 || !run.every((answer) => isOurs(answer as AssistantMessage, index))) {
      const taken = Math.max(1, answers.length + results.length);
      ordered.push(...messages.slice(at, at + taken));
      at += taken;
      continue;
    }
    ordered.push(...interleave(run as readonly AssistantMessage[], results).slice(first.length));
    at += answers.length + results.length;
  }
  return ordered;
}

/** Returns whether we minted every call of the answer. */
function isOurs({ toolCalls = [] }: AssistantMessage, index: TurnIndex): boolean {
  return toolCalls.length > 0 && toolCalls.every(({ id }) => index.ofCallId(id) !== undefined);
}

/** Puts results after their answers. Results that belong to none of the answers come last. */
function interleave(answers: readonly AssistantMessage[], results: readonly ChatMessage[]): readonly ChatMessage[] {
  const ownerOf = (result: ChatMessage): AssistantMessage | undefined =>
    result.role === 'tool'
      ? answers.find(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === result.toolCallId))
      : undefined;
  const last = answers.at(-1);
  return answers.flatMap((answer) => [answer, ...results.filter((result) => (ownerOf(result) ?? last) === answer)]);
}

function takeWhile(messages: readonly ChatMessage[], from: number, role: ChatMessage['role']): readonly ChatMessage[] {
  const end = messages.findIndex((message, at) => at >= from && message.role !== role);
  return messages.slice(from, end === -1 ? messages.length : end);
}
