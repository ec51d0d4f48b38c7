import type { ChatMessage, ToolSpec } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';
import type { RenderedPrompt, GeneratedTurn } from './seen-state.js';
import { isSameMessage } from './same-message.js';
import { addShape, isQuestion, type MessageShape, messageShapeOf } from './message-shape.js';

/** A message of a history; `origin` is the recorded turn that it repeats. */
export type HistoryEntry = { readonly message: ChatMessage; readonly origin?: GeneratedTurn };

/** Data that all conversations of one tree share. */
export type ConversationRoot = { readonly tools: readonly ToolSpec[]; readonly template: ChatTemplate };

/**
 * A message, together with the messages before it. The nodes form the tree of all conversations of an episode that
 * offer the same tools. Several children may have equal messages (answers that were sampled twice, or written by the
 * agent).
 */
export class MessageNode {
  readonly parent: MessageNode | undefined;
  readonly message: ChatMessage | undefined;
  /** The recorded turn that the message repeats. It may come from any node. */
  readonly origin: GeneratedTurn | undefined;
  /** The answer that was sampled here, after exactly these messages. */
  readonly turn: GeneratedTurn | undefined;
  readonly root: ConversationRoot;
  /** Number of messages from the first one to this one. */
  readonly length: number;
  /** The shape of the message (see message-shape.ts). The root has no message, and its shape is 0. */
  readonly shape: MessageShape;
  /**
   * `shapes`: kinds of the messages from the last question up to this node. `earlierShapes`: kinds of the messages
   * before that question.
   */
  readonly shapes: number;
  readonly earlierShapes: number;
  /** The end of the preamble: system messages and the first message after them. */
  readonly preamble: MessageNode;
  /** The prompt with which the model answered these messages. */
  prompt: RenderedPrompt | undefined;
  /** `hasTwin`: another child of the parent has an equal message. `hasTwinBelow`: a node below this one has a twin. */
  hasTwin = false;
  hasTwinBelow = false;
  /**
   * Most nodes have one child, so the first child makes a list of length 1. The ninth child makes `#byText`, a look-up
   * by text.
   */
  #children: MessageNode[] | undefined;
  #byText: Map<string, MessageNode[]> | undefined;
  #turns: MessageNode[] | undefined;

  private constructor(
    parent: MessageNode | undefined,
    root: ConversationRoot,
    entry?: HistoryEntry,
    turn?: GeneratedTurn,
  ) {
    this.parent = parent;
    this.root = root;
    this.message = entry?.message;
    this.origin = entry?.origin;
    this.turn = turn;
    this.length = parent === undefined ? 0 : parent.length + 1;
    this.shape = entry === undefined ? 0 : messageShapeOf(entry.message, root.template);
    const { shapes = 0, earlierShapes = 0 } = parent ?? {};
    const isNext = isQuestion(this.shape);
    this.shapes = entry === undefined ? 0 : addShape(isNext ? 0 : shapes, this.shape);
    this.earlierShapes = isNext ? earlierShapes | shapes : earlierShapes;
    this.preamble = parent === undefined || parent.isPreamble ? this : parent.preamble;
  }

  static createRoot(root: ConversationRoot): MessageNode {
    return new MessageNode(undefined, root);
  }

  get tools(): readonly ToolSpec[] {
    return this.root.tools;
  }

  private get isPreamble(): boolean {
    return this.message === undefined || (this.message.role === 'system' && this.preamble === this);
  }

  /** Returns children with exactly this message. */
  find(message: ChatMessage): readonly MessageNode[] {
    const candidates = this.#withText(message.content);
    const [only] = candidates;
    if (candidates.length === 1 && only?.message !== undefined)
      return isSameMessage(only.message, message) ? candidates : none;
    return candidates.filter((child) => child.message !== undefined && isSameMessage(child.message, message));
  }

  /** Returns the child that repeats this turn. */
  findOrigin(turn: GeneratedTurn): MessageNode | undefined {
    return this.#withText(turn.message.content).find(({ origin }) => origin === turn);
  }

  /** Returns answers that were sampled here. */
  get turns(): readonly MessageNode[] {
    return this.#turns ?? none;
  }

  /** Returns the child for this message, and makes it if there is none. */
  ensure(entry: HistoryEntry): MessageNode {
    const existing =
      entry.origin === undefined
        ? this.find(entry.message).find(({ turn }) => turn === undefined)
        : this.findOrigin(entry.origin);
    return existing ?? this.#append(new MessageNode(this, this.root, entry));
  }

  addTurn(turn: GeneratedTurn): MessageNode {
    const child = this.#append(new MessageNode(this, this.root, { message: turn.message, origin: turn }, turn));
    if (this.#turns === undefined) this.#turns = [child];
    else this.#turns.push(child);
    return child;
  }

  #append(child: MessageNode): MessageNode {
    const { message } = child;
    const [twin] = message === undefined ? none : this.find(message);
    if (twin !== undefined) markTwins(this, [twin, child]);
    if (this.#children === undefined)
      this.#children = [child]; // of length 1, because the first push would reserve room for 17
    else this.#children.push(child);
    if (this.#byText !== undefined) addByText(this.#byText, child);
    else if (this.#children.length > maxListed)
      this.#byText = this.#children.reduce(addByText, new Map<string, MessageNode[]>());
    return child;
  }

  /** Returns all children if there are few, otherwise those with this text. */
  #withText(text: string): readonly MessageNode[] {
    return (this.#byText === undefined ? this.#children : this.#byText.get(text)) ?? none;
  }
}

/** Up to this number, children are searched one by one. */
const maxListed = 8;

function addByText(byText: Map<string, MessageNode[]>, child: MessageNode): Map<string, MessageNode[]> {
  const text = child.message?.content ?? '';
  const sameText = byText.get(text);
  if (sameText === undefined) byText.set(text, [child]);
  else sameText.push(child);
  return byText;
}

const none: readonly MessageNode[] = [];

function markTwins(parent: MessageNode, twins: readonly MessageNode[]): void {
  for (const twin of twins) twin.hasTwin = true;
  for (let above: MessageNode | undefined = parent; above !== undefined && !above.hasTwinBelow; above = above.parent)
    above.hasTwinBelow = true;
}

/** Returns the nodes from the first message to this one. */
function pathTo(node: MessageNode): readonly MessageNode[] {
  const path: MessageNode[] = [];
  for (let current: MessageNode | undefined = node; current?.message !== undefined; current = current.parent)
    path.push(current);
  return path.reverse();
}

export function messagesTo(node: MessageNode): readonly ChatMessage[] {
  return entriesTo(node).map(({ message }) => message);
}

export function entriesTo(node: MessageNode): readonly HistoryEntry[] {
  return pathTo(node).flatMap(({ message, origin }) => (message === undefined ? [] : [entryOf(message, origin)]));
}

export function entryOf(message: ChatMessage, origin: GeneratedTurn | undefined): HistoryEntry {
  return origin === undefined ? { message } : { message, origin };
}
