import { randomBytes } from 'node:crypto';
import { type AssistantMessage, type ChatMessage, EngineError, type ToolSpec } from '@agentjet/core';
import type { ChatTokenizer, Tokenizer } from '@agentjet/tokenizer';
import type { Counts, SpecialTokensInText } from '../contract.js';
import type { HistoryEntry } from '../history/message-node.js';
import type { GeneratedTurn } from '../history/seen-state.js';

/**
 * Handles outside text that contains special tokens, such as a tool result with `<|im_end|>`. If such text were printed
 * and encoded directly, it would end its turn and could forge another one. So before a template prints such text, a
 * mark is inserted into each of its special tokens, and the tokenizer reads a marked token as plain text. The mark is
 * random, so that no author of text can know it. The model's own turns have no marks, because they must be printed as
 * they were seen.
 */
export class SpecialText {
  readonly #tokenizer: Tokenizer;
  readonly policy: SpecialTokensInText;
  readonly #pattern: RegExp | undefined;
  /** The marked copy of each message and tool. If there is nothing to mark, it is the object itself. */
  readonly #printed = new WeakMap<object, object>();

  constructor({ tokenizer, template }: ChatTokenizer, policy: SpecialTokensInText) {
    this.#tokenizer = tokenizer;
    this.policy = tokenizer.encodeMarked === undefined && policy === 'split' ? 'as_template' : policy;
    const ends = template.stopIds.map((id) => tokenizer.decode([id]));
    this.#pattern = toPattern([...(tokenizer.specialTokens ?? []), ...ends]);
  }

  /** Throws EngineError `bad_request` if the message contains special tokens and the policy is `refuse`. */
  check(message: ChatMessage, at: number): void {
    if (this.policy !== 'refuse') return;
    const [token] = this.#findAll(message);
    if (token === undefined) return;
    throw new EngineError(
      'bad_request',
      `Message ${at} (${message.role}) contains the special token ${JSON.stringify(token)}, which could forge a turn. Remove it, or set rollout.special_tokens_in_text to split.`,
    );
  }

  /** Counts the special tokens of the messages, by role. Turns of the model are left out. */
  countAll(entries: readonly HistoryEntry[]): Counts<ChatMessage['role']> {
    const counts: Partial<Record<ChatMessage['role'], number>> = {};
    for (const { message, origin } of entries) {
      const count = origin === undefined ? this.#findAll(message).length : 0;
      if (count > 0) counts[message.role] = (counts[message.role] ?? 0) + count;
    }
    return counts;
  }

  /** Returns the message in the form that the template should print. */
  toPrinted({ message, origin }: HistoryEntry): ChatMessage {
    if (origin?.written !== undefined) return asWritten(origin, origin.written);
    if (origin !== undefined || this.policy !== 'split') return message;
    return this.#mark(message);
  }

  toPrintedTools(tools: readonly ToolSpec[]): readonly ToolSpec[] {
    return this.policy === 'split' ? this.#mark(tools) : tools;
  }

  encode(text: string): Int32Array {
    return this.policy === 'split' && text.includes(mark)
      ? (this.#tokenizer.encodeMarked?.(text, mark) ?? this.#tokenizer.encode(text))
      : this.#tokenizer.encode(text);
  }

  #findAll(value: unknown): readonly string[] {
    const pattern = this.#pattern;
    if (pattern === undefined) return [];
    const found: string[] = [];
    mapTexts(value, (text) => {
      found.push(...(text.match(pattern) ?? []));
      return text;
    });
    return found;
  }

  /** Returns a marked copy, or the same object if there is nothing to mark. */
  #mark<Value extends object>(value: Value): Value {
    const pattern = this.#pattern;
    if (pattern === undefined) return value;
    const known = this.#printed.get(value);
    // The cast is safe: only this function adds entries, and each copy has the type of the object it was made from.
    if (known !== undefined) return known as Value;
    const marked =
      this.#findAll(value).length === 0 ? value : mapTexts(value, (text) => text.replace(pattern, putMark));
    this.#printed.set(value, marked);
    return marked;
  }
}

/** Returns a recorded turn as a message that has the calls in its text, for the template. */
function asWritten({ message: { role, reasoning } }: GeneratedTurn, content: string): AssistantMessage {
  return { role, content, ...(reasoning !== undefined && { reasoning }) };
}

/** The mark: lower-case letters and digits, because templates print them unchanged. */
const mark = `q${randomBytes(12).toString('hex')}q`;

/** Inserts the mark after the first character, so that no part of the token is a special token. */
function putMark(token: string): string {
  const [first = ''] = token;
  return first + mark + token.slice(first.length);
}

function toPattern(tokens: readonly string[]): RegExp | undefined {
  const longestFirst = [...new Set(tokens)]
    .filter((token) => [...token].length > 1)
    .toSorted((left, right) => right.length - left.length);
  if (longestFirst.length === 0) return undefined;
  return new RegExp(longestFirst.map((token) => token.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|'), 'gu');
}

function mapTexts<Value>(value: Value, change: (text: string) => string): Value;
function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((entry: unknown) => mapTexts(entry, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [change(key), mapTexts(inner, change)]));
}
