import type { AssistantMessage, ChatMessage, ToolMessage } from '@agentjet/core';

/**
 * Moves tool results back to their own turns. If a framework has merged turns, all of their results follow the last
 * turn.
 */
export function splitMergedTurns(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const ordered: ChatMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const turns = takeWhile(messages, at, (message) => message.role === 'assistant');
    const results = takeWhile(messages, at + turns.length, (message) => message.role === 'tool');
    if (turns.length === 0) {
      ordered.push(...messages.slice(at, at + 1));
      at += 1;
    } else {
      ordered.push(...interleave(turns, results));
      at += turns.length + results.length;
    }
  }
  return ordered;
}

function interleave(turns: readonly AssistantMessage[], results: readonly ToolMessage[]): readonly ChatMessage[] {
  const isOf = (turn: AssistantMessage, { toolCallId }: ToolMessage): boolean =>
    turn.toolCalls?.some(({ id }) => id === toolCallId) ?? false;
  const early = turns.slice(0, -1);
  const late = results.filter((result) => !early.some((turn) => isOf(turn, result)));
  return [
    ...early.flatMap((turn) => [turn, ...results.filter((result) => isOf(turn, result))]),
    ...turns.slice(-1),
    ...late,
  ];
}

function takeWhile<M extends ChatMessage>(
  messages: readonly ChatMessage[],
  from: number,
  isWanted: (message: ChatMessage) => message is M,
): readonly M[] {
  const taken: M[] = [];
  for (let at = from; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined || !isWanted(message)) break;
    taken.push(message);
  }
  return taken;
}

/**
 * Groups the parts of messages by the id of their turn. Frameworks split a turn of the model into parts or items, and
 * one message may hold several turns. Parts without an id come from another model, and are never grouped with parts
 * that have one.
 */
export function groupByTurn<P>(parts: readonly P[], turnOf: (part: P) => unknown): readonly (readonly P[])[] {
  const groups: { readonly turn: unknown; readonly parts: P[] }[] = [];
  for (const part of parts) {
    const turn = turnOf(part);
    const last = groups.at(-1);
    if (last !== undefined && last.turn === turn) last.parts.push(part);
    else groups.push({ turn, parts: [part] });
  }
  return groups.map((group) => group.parts);
}
