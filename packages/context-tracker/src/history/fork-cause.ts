import type { AssistantMessage, ChatMessage, ForkCause } from '@agentjet/core';
import type { GeneratedTurn } from './seen-state.js';
import { type HistoryEntry, type MessageNode, messagesTo } from './message-node.js';
import { isRespelling } from './respelling.js';
import { isSameMessage } from './same-message.js';
import type { TurnIndex } from './turn-index.js';

type CauseOptions = { readonly agentName: string; readonly index: TurnIndex };

/**
 * Returns why a request with these new messages does not continue what was seen. Returns undefined if the request is a
 * new conversation or a new branch: it continues from a node after which the agent has no turn, and it repeats no turn
 * from another node.
 */
export function findForkCause(
  node: MessageNode,
  tail: readonly HistoryEntry[],
  options: CauseOptions,
): ForkCause | undefined {
  const [first] = tail;
  if (first === undefined) return undefined;
  const moved = findMoved(node, tail, options);
  if (moved !== undefined) return moved;
  const own = node.turns.flatMap(({ turn }) => (turn?.agent.agentName === options.agentName ? [turn] : []));
  if (own.length === 0) return undefined;
  if (own.some((turn) => goesOn(turn, first.message))) return 'retokenized';
  return isEdit(own, first, options.index) ? 'edited' : 'rewritten';
}

/**
 * Finds the first recorded turn among the new messages, and returns why it is in another place now. To find the cause,
 * it compares the messages before the turn with those that the turn was sampled from.
 */
function findMoved(node: MessageNode, tail: readonly HistoryEntry[], options: CauseOptions): ForkCause | undefined {
  let previous = node.message;
  for (const [at, { message, origin }] of tail.entries()) {
    const turn = message.role === 'assistant' ? (origin ?? findByText(message, previous, node, options)) : undefined;
    if (turn !== undefined) return causeOfMove(turn, node, tail.slice(0, at));
    previous = message;
  }
  return undefined;
}

/**
 * Finds a turn of the agent with this text. It prefers a turn that answered the same message, or that continues the
 * conversation of `node`.
 */
function findByText(
  message: AssistantMessage,
  previous: ChatMessage | undefined,
  node: MessageNode,
  { agentName, index }: CauseOptions,
): GeneratedTurn | undefined {
  if ((message.toolCalls ?? []).length > 0) return undefined;
  const sameText = index.ofText(message.content).filter(({ agent }) => agent.agentName === agentName);
  const answeredSame = (turn: GeneratedTurn): boolean =>
    previous !== undefined && turn.node.message !== undefined && isSameMessage(turn.node.message, previous);
  return sameText.find((turn) => answeredSame(turn) || isBelow(turn.node, node)) ?? sameText[0];
}

/**
 * Returns whether `below` continues the conversation that ends at `node`. A conversation of only a system message does
 * not count.
 */
function isBelow(below: MessageNode, node: MessageNode): boolean {
  if (node.message === undefined || node.message.role === 'system') return false;
  let current: MessageNode | undefined = below;
  while (current !== undefined && current.length > node.length) current = current.parent;
  return current === node;
}

function causeOfMove(turn: GeneratedTurn, node: MessageNode, between: readonly HistoryEntry[]): ForkCause {
  const own = messagesTo(turn.node);
  const now = [...messagesTo(node), ...between.map(({ message }) => message)];
  if (!isSameList(own.filter(isNotSystem), now.filter(isNotSystem))) return 'rewritten';
  if (!isSameList(own, now)) return 'system';
  if (turn.node.root.template !== node.root.template) return 'template';
  return turn.node.tools === node.tools ? 'rewritten' : 'tools';
}

function isNotSystem({ role }: ChatMessage): boolean {
  return role !== 'system';
}

function isSameList(left: readonly ChatMessage[], right: readonly ChatMessage[]): boolean {
  return (
    left.length === right.length &&
    left.every((message, at) => right[at] !== undefined && isSameMessage(message, right[at]))
  );
}

/**
 * Returns whether the message replaces one recorded answer with something else. A message that holds several answers is
 * rewritten, not edited.
 */
function isEdit(own: readonly GeneratedTurn[], { message, origin }: HistoryEntry, index: TurnIndex): boolean {
  if (message.role !== 'assistant' || origin !== undefined) return false;
  if (new Set((message.toolCalls ?? []).map(({ id }) => index.ofCallId(id))).size > 1) return false;
  return !own.some((turn) => isRespelling(turn, message, false) || isRespelling(turn, message, true));
}

/**
 * Returns whether the message is the turn's text with more words after it. The text of the turn is then unchanged, but
 * the tokens at its end may differ.
 */
function goesOn(turn: GeneratedTurn, message: ChatMessage): boolean {
  const text = turn.message.content.trimEnd();
  const isPlain = message.role === 'assistant' && (message.toolCalls ?? []).length === 0;
  return isPlain && text !== '' && message.content.length > text.length && message.content.startsWith(text);
}

/** Explains each cause of a fork to people. */
export const forkReasons: Readonly<Record<ForkCause, string>> = {
  rewritten: 'earlier messages were changed, cut or summarised',
  edited: "the agent changed words or arguments of the model's answer",
  template: 'the chat template prints earlier messages differently once others follow',
  retokenized: 'words were added to an earlier answer, so the tokens at its end changed',
  tools: 'the list of tools changed',
  system: 'the system message changed',
};
