import type { ChatMessage } from '@agentjet/core';
import type { ChatTokenizer, DecodedIds, Tokenizer } from '@agentjet/tokenizer';
import type { PartAuthor, TurnPart } from '../contract.js';
import type { PreparedPrompt } from '../prompt/prepare-prompt.js';
import { findEnd, type TurnMarks } from '../prompt/turn-marks.js';
import { findMessageLeads, type MessageLeads } from './message-leads.js';

type PartTools = { readonly chatTokenizer: ChatTokenizer; readonly marks: TurnMarks };

/** A prompt whose last ids were rendered for one call. */
type PromptParts = Pick<PreparedPrompt, 'ids' | 'numNew' | 'text' | 'opening' | 'numOpening'>;

type AddedMessage = { readonly message: ChatMessage; readonly author: PartAuthor };

/** Finds the message of each token that was rendered for a call, in order. */
export function findParts(
  { ids, numNew, text: rendered, opening, numOpening }: PromptParts,
  added: readonly AddedMessage[],
  { chatTokenizer, marks }: PartTools,
): readonly TurnPart[] {
  const first = ids.length - numNew;
  const opened = ids.length - numOpening;
  const printed = opening === '' ? rendered : rendered.slice(0, -opening.length);
  const { text, ends } = decodePrinted(ids.subarray(first, opened), printed, chatTokenizer.tokenizer);
  const finder: Finder = { text, marks, leads: findMessageLeads(chatTokenizer.template) };
  const parts: TurnPart[] = [];
  let from = 0;
  for (const { message, author } of added) {
    const place = findMessage(message, from, finder);
    if (place === undefined) continue;
    from = place.end;
    if (place.end > place.start)
      parts.push({
        author,
        ...nameOf(message),
        start: first + firstToken(ends, place.start),
        end: first + tokenAt(ends, place.end) + 1,
      });
  }
  if (numOpening > 0) parts.push({ author: 'opening', start: opened, end: ids.length });
  return parts;
}

/** The position of a message in the rendered text. */
type Place = { readonly start: number; readonly end: number };
type Finder = { readonly text: string; readonly marks: TurnMarks; readonly leads: MessageLeads };

function findMessage(message: ChatMessage, from: number, finder: Finder): Place | undefined {
  if (message.role === 'assistant') return findAnswer(from, finder) ?? findText(message.content, '', from, finder);
  const { [message.role]: lead } = finder.leads;
  return findText(message.content, lead, from, finder);
}

/** Finds the range from the header of an assistant's turn to its end: reasoning, text and calls. */
function findAnswer(from: number, { text, marks }: Finder): Place | undefined {
  const { header, ends } = marks;
  if (header === '' || ends.length === 0) return undefined;
  const at = text.indexOf(header, from);
  const earlierEnd = findEnd(marks, text, 0);
  // If the header is in the part that was seen earlier, the rendered text begins within the turn, so the answer starts
  // at 0.
  const start = from === 0 && earlierEnd > 0 && (at === -1 || earlierEnd < at) ? 0 : at + header.length;
  const end = at === -1 && start > 0 ? -1 : findEnd(marks, text, start);
  return end === -1 ? undefined : { start, end };
}

/** Finds the text, unchanged or trimmed. It searches right after the lead first, and then anywhere. */
function findText(content: string, lead: string, from: number, { text }: Finder): Place | undefined {
  const trimmed = content.trim();
  for (const written of [content, trimmed]) {
    const start = findAfter(lead, written, { text, from });
    if (start !== -1) return { start, end: start + written.length };
  }
  const at = text.indexOf(trimmed, from);
  return at === -1 ? undefined : { start: at, end: at + trimmed.length };
}

/** Returns the first position of a string right after its lead, or -1. */
function findAfter(lead: string, written: string, { text, from }: Search): number {
  if (lead === '') return text.indexOf(written, from);
  for (let at = text.indexOf(lead, from); at !== -1; at = text.indexOf(lead, at + 1))
    if (text.startsWith(written, at + lead.length)) return at + lead.length;
  return -1;
}

type Search = Pick<Finder, 'text'> & { readonly from: number };

function nameOf(message: ChatMessage): Pick<TurnPart, 'name'> {
  const name = 'name' in message ? message.name : undefined;
  return name === undefined ? {} : { name };
}

/**
 * Decodes ids one by one. Uses the printed text if the ids decode to it. If the printed text has marks, the ids decode
 * to other text, because marks are not encoded.
 */
function decodePrinted(ids: Int32Array, printed: string, tokenizer: Tokenizer): DecodedIds {
  const ends = tokenizer.textEnds?.(ids);
  return ends !== undefined && (ends[ids.length - 1] ?? 0) === printed.length
    ? { text: printed, ends }
    : decodeEach(ids, tokenizer);
}

function decodeEach(ids: Int32Array, tokenizer: Tokenizer): DecodedIds {
  const quick = tokenizer.decodeEach?.(ids);
  if (quick !== undefined) return quick;
  const decoder = tokenizer.createStreamDecoder();
  const ends = new Int32Array(ids.length);
  let text = '';
  for (const [at, id] of ids.entries()) {
    text += decoder.push(id);
    ends[at] = text.length;
  }
  return { text: text + decoder.flush(), ends };
}

/**
 * Returns the token with which the text after this position begins. This may be a token with only the first bytes of
 * the first character.
 */
function firstToken(ends: ArrayLike<number>, place: number): number {
  const at = place === 0 ? -1 : tokenAt(ends, place);
  return ends[at] === undefined || ends[at] === place ? at + 1 : at;
}

/** Returns the first token that ends at or after this position of the text. */
function tokenAt(ends: ArrayLike<number>, place: number): number {
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
