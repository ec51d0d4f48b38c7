import type { ChatMessage } from '@agentjet/core';
import type { MessageNode } from './message-node.js';
import { isSameMessage } from './same-message.js';

/**
 * The latest conversation of each agent. Most requests repeat this conversation and add to it. So a request is first
 * compared with it message by message, before any look-up.
 */
export class LatestConversations {
  readonly #latest = new Map<string, Guide>();

  /**
   * Returns how many messages certainly repeat the agent's latest conversation. It stops before the first of several
   * equal answers, because the messages may continue another of these answers.
   */
  matchPrefix(agentName: string, root: MessageNode, messages: readonly ChatMessage[]): RepeatedStart {
    const guide = this.#latest.get(agentName);
    if (guide === undefined || guide.nodes[0]?.parent !== root) return { node: root, length: 0 };
    const length = countCertain(root, guide.nodes, countRepeated(guide, messages));
    return { node: guide.nodes[length - 1] ?? root, length };
  }

  /**
   * Call this when a call of the agent is committed at this node. If several calls were open at the same time, the one
   * that began last counts.
   */
  update(agentName: string, callIndex: number, node: MessageNode): void {
    const guide = this.#latest.get(agentName) ?? { callIndex, nodes: [], contents: [], roles: [] };
    if (callIndex < guide.callIndex) return;
    const added: MessageNode[] = [];
    let current: MessageNode | undefined = node;
    for (; current?.message !== undefined && guide.nodes[current.length - 1] !== current; current = current.parent)
      added.push(current);
    guide.nodes.length = guide.contents.length = guide.roles.length = current?.length ?? 0;
    for (const next of added.reverse()) push(guide, next);
    guide.callIndex = callIndex;
    this.#latest.set(agentName, guide);
  }
}

export type RepeatedStart = { readonly node: MessageNode; readonly length: number };

/**
 * The nodes of a conversation. Every call compares a whole conversation, so the texts and roles are in separate lists,
 * which a processor can prefetch.
 */
type Guide = {
  callIndex: number;
  readonly nodes: MessageNode[];
  readonly contents: string[];
  readonly roles: (Role | undefined)[];
};

type Role = ChatMessage['role'];

function push(guide: Guide, node: MessageNode): void {
  guide.nodes.push(node);
  guide.contents.push(node.message?.content ?? '');
  guide.roles.push(node.message !== undefined && isPlain(node.message) ? node.message.role : undefined);
}

function countRepeated(
  { nodes, contents, roles }: Guide,
  messages: readonly (ChatMessage | undefined | null)[],
): number {
  const limit = Math.min(nodes.length, messages.length);
  for (let at = 0; at < limit; at++) {
    const message = messages[at];
    if (message === undefined || message === null) return at;
    // Object.is comes first, because both are usually the same string object. Object.is detects that without reading
    // the string; === does not.
    const isSame =
      Object.is(message.content, contents[at]) &&
      message.role === roles[at] &&
      message.role !== undefined &&
      isPlain(message);
    if (!isSame && !isRepeated(nodes[at], message)) return at;
  }
  return limit;
}

/** Returns how many nodes come before the first one that has an equal sibling. */
function countCertain(root: MessageNode, nodes: readonly MessageNode[], length: number): number {
  let above: MessageNode | undefined = root;
  for (let at = 0; at < length && above?.hasTwinBelow === true; at++) {
    above = nodes[at];
    if (above?.hasTwin === true) return at;
  }
  return length;
}

/** Returns whether the message has only a role and text. */
function isPlain(message: ChatMessage): boolean {
  const { name, reasoning, toolCalls, toolCallId } = message as Partial<
    Record<'name' | 'reasoning' | 'toolCalls' | 'toolCallId', unknown>
  >;
  return name === undefined && reasoning === undefined && toolCalls === undefined && toolCallId === undefined;
}

/** Returns whether the message equals the node's message, or the known spelling of its recorded turn. */
function isRepeated(node: MessageNode | undefined, message: ChatMessage): boolean {
  if (node?.message === undefined) return false;
  const spelling = node.origin?.spelling;
  return isSameMessage(node.message, message) || (spelling !== undefined && isSameMessage(spelling, message));
}
