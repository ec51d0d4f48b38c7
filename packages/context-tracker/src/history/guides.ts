import type { ChatMessage } from '@agentjet/core';
import type { MessageNode } from './message-node.js';
import { isSameMessage } from './same-message.js';

/**
 * The latest conversation of each agent. Most requests repeat it and go on, so that it is compared first, message by
 * message, before anything is looked up.
 */
export class Guides {
  readonly #latest = new Map<string, Guide>();

  /** How far the messages repeat the agent's latest conversation and no other: of equal answers, it need not be this one that they go on from. */
  follow(agentName: string, root: MessageNode, messages: readonly ChatMessage[]): Guided {
    const guide = this.#latest.get(agentName);
    if (guide === undefined || guide.nodes[0]?.parent !== root) return { node: root, length: 0 };
    const length = countCertain(root, guide.nodes, countRepeated(guide, messages));
    return { node: guide.nodes[length - 1] ?? root, length };
  }

  /** The agent's call of this number led to this node. Of calls that were open at once, the last begun counts. */
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

export type Guided = { readonly node: MessageNode; readonly length: number };

/** Every call goes through a whole conversation: text and role stand in lists of their own, which a processor reads ahead. */
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
    // Mostly it is the very same string: Object.is finds that out without reading it, unlike ===.
    const isSame =
      Object.is(message.content, contents[at]) &&
      message.role === roles[at] &&
      message.role !== undefined &&
      isPlain(message);
    if (!isSame && !isRepeated(nodes[at], message)) return at;
  }
  return limit;
}

/** Of this many nodes, those before the first with an equal one beside it. */
function countCertain(root: MessageNode, nodes: readonly MessageNode[], length: number): number {
  let above: MessageNode | undefined = root;
  for (let at = 0; at < length && above?.hasTwinBelow === true; at++) {
    above = nodes[at];
    if (above?.hasTwin === true) return at;
  }
  return length;
}

/** Nothing but a role and a text. */
function isPlain(message: ChatMessage): boolean {
  const { name, reasoning, toolCalls, toolCallId } = message as Partial<
    Record<'name' | 'reasoning' | 'toolCalls' | 'toolCallId', unknown>
  >;
  return name === undefined && reasoning === undefined && toolCalls === undefined && toolCallId === undefined;
}

/** Equal, or in the spelling that is known of a turn of ours. */
function isRepeated(node: MessageNode | undefined, message: ChatMessage): boolean {
  if (node?.message === undefined) return false;
  const spelling = node.origin?.spelling;
  return isSameMessage(node.message, message) || (spelling !== undefined && isSameMessage(spelling, message));
}
