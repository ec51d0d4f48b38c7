import { type ChatMessage, EngineError } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';
import type { HistoryEntry, MessageNode } from '../history/message-node.js';
import { entriesTo, entryOf } from '../history/message-node.js';
import { type MessageShape, messageShapeOf } from '../history/message-shape.js';
import { align } from './align.js';
import { chainOf, type SeenState } from '../history/seen-state.js';
import { type StandIn, standInsOf } from './stand-ins.js';
import type { SpecialText } from './special-text.js';
import type { TurnMarks } from './turn-marks.js';

/**
 * Returns the text that the template prints after what was seen. Rendering the whole history gives this text exactly.
 * It also shows whether the template now prints earlier messages differently. But a rendering of the whole history for
 * each call is slow. So the renderer uses a short stand-in for the history if the stand-in is known to give the same
 * text. The stand-in is a stub or the preamble of the conversation, followed by the last answer and the messages after
 * it. The renderer learns which stand-in works by comparing both texts, for each system message and combination of
 * message shapes. Episodes with the same system message share what was learned. The renderer compares again whenever a
 * history has grown fourfold, and in some of the episodes.
 */
export class TailRenderer {
  readonly #template: ChatTemplate;
  readonly #marks: TurnMarks;
  readonly #special: SpecialText;
  /**
   * Stand-ins by system message and tools, because in some templates the system message decides how every turn is
   * printed.
   */
  readonly #standIns = new Map<MessageNode, Map<string, StandIn>>();
  readonly #met = new Set<StandIn>();
  readonly #headings = new Map<MessageNode | undefined, string>();

  constructor(
    template: ChatTemplate,
    { marks, special }: { readonly marks: TurnMarks; readonly special: SpecialText },
  ) {
    this.#template = template;
    this.#marks = marks;
    this.#special = special;
  }

  render(node: MessageNode, tail: readonly HistoryEntry[]): RenderedTail {
    const last = findLast(node, tail);
    if (last === undefined) return this.#renderWhole(node, tail, last);
    const checkedLength = checkedLengthOf(last.state);
    const isDue = node.length + tail.length >= checkedLength * recheckFactor;
    const kind = isDue ? undefined : this.#known(last);
    const text = kind === undefined || kind === 'whole' ? undefined : this.#renderShort(kind, last);
    return text === undefined
      ? this.#renderWhole(node, tail, last)
      : { before: last.state, text, added: last.since, isKept: true, checkedLength };
  }

  #renderWhole(node: MessageNode, tail: readonly HistoryEntry[], last: LastSeen | undefined): RenderedTail {
    const entries = [...entriesTo(node), ...tail];
    const rendered = this.#print(this.#toPrinted(entries), node);
    const chain = chainOf(last?.state);
    const { numKept, at } = align(rendered, chain, this.#template, this.#marks);
    const text = at === 0 ? rendered : copy(rendered.slice(at));
    const isKept = numKept === chain.length;
    if (last !== undefined) this.#learn(last, isKept ? text : undefined);
    const before = chain[numKept - 1];
    return { before, text, added: entries.slice(lengthAt(before, node)), isKept, checkedLength: entries.length };
  }

  /**
   * Stores which stand-in gives `text`. `text` is the tail, or undefined if it does not continue what was seen. If no
   * stand-in gives this text, the whole history is always rendered from now on.
   */
  #learn(last: LastSeen, text: string | undefined): void {
    const standIns = this.#standInsFor(last);
    const key = keyOf(last);
    const known = standIns.get(key);
    if (known?.kind === 'whole') return;
    const fits = (kind: 'stub' | 'preamble'): boolean => text !== undefined && this.#renderShort(kind, last) === text;
    const learned = { numEpisodes: 1, ...known, kind: (['stub', 'preamble'] as const).find(fits) ?? 'whole' } as const;
    standIns.set(key, learned);
    this.#met.add(learned);
  }

  /** Returns the stand-in to use, or undefined if this episode should learn it. */
  #known(last: LastSeen): StandIn['kind'] | undefined {
    const known = this.#standInsFor(last).get(keyOf(last));
    if (known === undefined || this.#met.has(known)) return known?.kind;
    known.numEpisodes++;
    this.#met.add(known);
    return Number.isInteger(Math.log2(known.numEpisodes)) ? undefined : known.kind;
  }

  #standInsFor({ node: { preamble, tools } }: LastSeen): Map<string, StandIn> {
    const system = preamble.message?.role === 'system' ? preamble : (preamble.parent ?? preamble);
    const known = this.#standIns.get(system);
    if (known !== undefined) return known;
    const { message } = system;
    const printed = message && this.#special.toPrinted(entryOf(message, system.origin));
    const standIns = standInsOf(this.#template, JSON.stringify([this.#special.policy, printed, tools]));
    this.#standIns.set(system, standIns);
    return standIns;
  }

  /** Returns the tail after a short stand-in for the history, or undefined if the stand-in cannot be rendered. */
  #renderShort(kind: 'stub' | 'preamble', { node, state, since }: LastSeen): string | undefined {
    const preamble = kind === 'stub' ? undefined : node.preamble;
    const messages = preamble === undefined ? stub : this.#toPrinted(entriesTo(preamble));
    const answer = state.kind === 'turn' ? [state] : [];
    try {
      const heading = this.#heading(preamble, messages);
      const rendered = this.#print(
        [...messages, ...this.#toPrinted([...answer.map((turn) => entryOf(turn.message, turn)), ...since])],
        preamble,
      );
      const chain = [{ kind: 'prompt', text: heading } as const, ...answer];
      const { numKept, at } = align(rendered, chain, this.#template, this.#marks);
      return numKept === chain.length ? copy(rendered.slice(at)) : undefined;
    } catch (error) {
      if (error instanceof EngineError) return undefined; // the template refuses the stand-in, but it may accept the whole history
      throw error;
    }
  }

  #heading(preamble: MessageNode | undefined, messages: readonly ChatMessage[]): string {
    const known = this.#headings.get(preamble);
    if (known !== undefined) return known;
    const heading = this.#print(messages, preamble);
    this.#headings.set(preamble, heading);
    return heading;
  }

  #toPrinted(entries: readonly HistoryEntry[]): readonly ChatMessage[] {
    return entries.map((entry) => this.#special.toPrinted(entry));
  }

  #print(messages: readonly ChatMessage[], node: MessageNode | undefined): string {
    const tools = this.#special.toPrintedTools(node?.tools ?? []);
    return this.#template.render(messages, { addGenerationPrompt: true, ...(tools.length === 0 ? {} : { tools }) });
  }
}

export type RenderedTail = {
  /** The latest state that the prompt continues. */
  readonly before: SeenState | undefined;
  readonly text: string;
  /** The messages in the text. */
  readonly added: readonly HistoryEntry[];
  /** False if the template prints the history differently from what was seen. */
  readonly isKept: boolean;
  /** Number of messages when the whole history was last rendered. */
  readonly checkedLength: number;
};

const recheckFactor = 4;
const stub: readonly ChatMessage[] = [{ role: 'user', content: 'x' }];

/** The latest state on the way to a node, with the messages after it. */
type LastSeen = { readonly node: MessageNode; readonly state: SeenState; readonly since: readonly HistoryEntry[] };

function findLast(node: MessageNode, tail: readonly HistoryEntry[]): LastSeen | undefined {
  const since = tail.toReversed();
  for (let current: MessageNode | undefined = node; current?.message !== undefined; current = current.parent) {
    // A prompt ends in the header of an answer, so only an answer can follow it.
    const state: SeenState | undefined =
      current.turn ?? (since.at(-1)?.message.role === 'assistant' ? current.prompt : undefined);
    if (state !== undefined) return { node: current, state, since: since.reverse() };
    since.push(entryOf(current.message, current.origin));
  }
  return undefined;
}

/** Returns the number of messages that a state on the way to the node covers. */
function lengthAt(state: SeenState | undefined, node: MessageNode): number {
  let current: MessageNode | undefined = node;
  while (current !== undefined && current.turn !== state && current.prompt !== state) current = current.parent;
  return state === undefined ? 0 : (current?.length ?? 0);
}

function checkedLengthOf(state: SeenState): number {
  return state.kind === 'prompt' ? state.checkedLength : state.before.checkedLength;
}

/**
 * Returns a key of everything that may decide how a template prints the new messages, and whether it prints earlier
 * ones differently. The key contains the kinds of all messages, separately before and after the last question, because
 * thinking is left out before it. It also contains the kinds of the last messages so far.
 */
function keyOf({ node, state, since }: LastSeen): string {
  return `${state.kind} ${node.earlierShapes} ${node.shapes} ${latestShapes(node).join(' ')} | ${since.map(({ message }) => messageShapeOf(message, node.root.template)).join(' ')}`;
}

/**
 * Returns the shapes of the last messages, back to the last answer before the node. These messages are at the end of
 * the last prompt.
 */
function latestShapes(node: MessageNode): readonly MessageShape[] {
  const shapes: MessageShape[] = [];
  for (let current: MessageNode | undefined = node; current?.message !== undefined; current = current.parent) {
    shapes.push(current.shape);
    if (current !== node && current.message.role === 'assistant') break;
  }
  return shapes;
}

/** Copies a slice. A slice keeps the whole string in memory, and a tail is kept as long as the episode. */
function copy(slice: string): string {
  const copied = Buffer.from(slice).toString();
  return copied === slice ? copied : Buffer.from(slice, 'utf16le').toString('utf16le'); // UTF-8 cannot encode half of a surrogate pair
}
