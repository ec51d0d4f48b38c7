import type { AssistantMessage, ChatDelta } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/**
 * Stop strings are searched for in the raw generated text outside of thinking. The token that completes a stop string
 * is sampled and recorded like any other token. Only the message for the caller ends before the stop string. If a stop
 * string overlaps a tool call, generation stops and the message stays as it was parsed.
 */
export type StopSearch = {
  /** Returns true once the text so far contains a stop string. */
  push(id: number): boolean;
  /**
   * Call it at the end of the answer. It searches text that was held back because it could have become the beginning of
   * thinking.
   */
  finish(): void;
  readonly found: string | undefined;
};

/** `opening` is the beginning of the answer, if the request prescribes one. It is not searched. */
export function createStopSearch(
  { tokenizer, template }: ChatTokenizer,
  stops: readonly string[],
  opening = '',
): StopSearch {
  const decoder = tokenizer.createStreamDecoder();
  const answer = template.createAnswerText?.() ?? { push: (text: string) => text, flush: () => '' };
  answer.push(opening);
  const longest = Math.max(0, ...stops.map((stop) => stop.length));
  let tail = '';
  let found: string | undefined;
  const search = (added: string): boolean => {
    const text = tail + added;
    found ??= firstStop(text, stops)?.stop;
    tail = text.slice(Math.max(0, text.length - longest + 1));
    return found !== undefined;
  };
  return {
    push: (id) => stops.length > 0 && search(answer.push(decoder.push(id))),
    finish: () => {
      if (stops.length > 0) search(answer.push(decoder.flush()) + answer.flush());
    },
    get found() {
      return found;
    },
  };
}

/** Returns the message for the caller, whose content ends before the stop string. */
export function cutAtStop(message: AssistantMessage, stop: string | undefined): AssistantMessage {
  return stop === undefined ? message : { ...message, content: cutText(message.content, stop) };
}

/**
 * Passes deltas on but holds back content that may turn out to be part of a stop string. `flush` releases the rest. If
 * a stop string was found, the rest ends before it. The concatenated deltas equal the message of `cutAtStop`.
 */
export function createStopFilter(
  stops: readonly string[],
  emit: (delta: ChatDelta) => void,
): { push(delta: ChatDelta): void; flush(found: string | undefined): void } {
  if (stops.length === 0) {
    return { push: emit, flush: () => {} };
  }
  let held = '';
  const release = (keep: number): void => {
    const text = held.slice(0, held.length - keep);
    held = held.slice(text.length);
    if (text !== '') emit({ type: 'content', text });
  };
  return {
    push: (delta) => {
      if (delta.type === 'content') {
        held += delta.text;
        release(lengthToHold(held, stops));
        return;
      }
      if (firstStop(held, stops) === undefined) release(0);
      emit(delta);
    },
    flush: (found) => {
      held = found === undefined ? held : cutText(held, found);
      release(0);
    },
  };
}

function cutText(text: string, stop: string): string {
  const at = text.indexOf(stop);
  return at === -1 ? text : text.slice(0, at);
}

function firstStop(text: string, stops: readonly string[]): { readonly at: number; readonly stop: string } | undefined {
  const hits = stops.map((stop) => ({ at: text.indexOf(stop), stop })).filter(({ at }) => at !== -1);
  return hits.sort((left, right) => left.at - right.at)[0];
}

/** Returns how many characters to hold back: the text from the first stop string, or from what may become one. */
function lengthToHold(text: string, stops: readonly string[]): number {
  const hit = firstStop(text, stops);
  if (hit !== undefined) {
    return text.length - hit.at;
  }
  const longest = Math.max(...stops.map((stop) => stop.length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    const tail = text.slice(text.length - length);
    if (stops.some((stop) => stop.startsWith(tail))) return length;
  }
  return 0;
}
