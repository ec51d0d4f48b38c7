import type { AssistantMessage, ChatDelta } from '@agentjet/core';
import type { Tokenizer } from '@agentjet/tokenizer';

/**
 * Stop texts. They are searched in the raw generated text; the token that completes one is sampled and recorded
 * like any other, only the caller's message ends before the text. Where a stop text reaches over the border of a
 * tool call or thinking block, generation stops and the message is left as it was parsed.
 */
export type StopSearch = {
  /** True once a stop text stands in the text so far. */
  push(id: number): boolean;
  readonly found: string | undefined;
};

export function createStopSearch(tokenizer: Tokenizer, stops: readonly string[]): StopSearch {
  const decoder = tokenizer.createStreamDecoder();
  const longest = Math.max(0, ...stops.map((stop) => stop.length));
  let tail = '';
  let found: string | undefined;
  return {
    push: (id) => {
      const text = tail + decoder.push(id);
      found = stops.length === 0 ? undefined : firstStop(text, stops)?.stop;
      tail = text.slice(Math.max(0, text.length - longest + 1));
      return found !== undefined;
    },
    get found() {
      return found;
    },
  };
}

/** The message as the caller sees it: content and reasoning end before the stop text. */
export function cutAtStop(message: AssistantMessage, stop: string | undefined): AssistantMessage {
  if (stop === undefined) {
    return message;
  }
  const { reasoning, content } = message;
  const cutContent = cutText(content, stop);
  if (cutContent !== content || reasoning === undefined) {
    return { ...message, content: cutContent };
  }
  return { ...message, reasoning: cutText(reasoning, stop) };
}

/**
 * Passes deltas on but holds back text that a stop text may still swallow. `flush` releases what is left, cut
 * where `found` says that generation stopped; then all texts together equal the message of `cutAtStop`.
 */
export function createStopFilter(
  stops: readonly string[],
  emit: (delta: ChatDelta) => void,
): { push(delta: ChatDelta): void; flush(found: string | undefined): void } {
  if (stops.length === 0) {
    return { push: emit, flush: () => {} };
  }
  const held = { reasoning: '', content: '' };
  const release = (type: 'reasoning' | 'content', keep: number): void => {
    const text = held[type].slice(0, held[type].length - keep);
    held[type] = held[type].slice(text.length);
    if (text !== '') emit({ type, text });
  };
  return {
    push: (delta) => {
      if (delta.type !== 'reasoning' && firstStop(held.reasoning, stops) === undefined) release('reasoning', 0);
      if (delta.type === 'tool_call') {
        if (firstStop(held.content, stops) === undefined) release('content', 0);
        emit(delta);
        return;
      }
      held[delta.type] += delta.text;
      release(delta.type, lengthToHold(held[delta.type], stops));
    },
    flush: (found) => {
      const cut = cutAtStop({ role: 'assistant', content: held.content, reasoning: held.reasoning }, found);
      Object.assign(held, { content: cut.content, reasoning: cut.reasoning ?? '' });
      release('reasoning', 0);
      release('content', 0);
    },
  };
}

function cutText(text: string, stop: string): string {
  const at = text.lastIndexOf(stop);
  return at === -1 ? text : text.slice(0, at);
}

function firstStop(text: string, stops: readonly string[]): { readonly at: number; readonly stop: string } | undefined {
  const hits = stops.map((stop) => ({ at: text.indexOf(stop), stop })).filter(({ at }) => at !== -1);
  return hits.sort((left, right) => left.at - right.at)[0];
}

/** Length of the tail that holds a stop text or may become one. */
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
