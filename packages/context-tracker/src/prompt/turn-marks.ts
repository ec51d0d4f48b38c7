import type { ChatMessage } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/** The strings that a chat template prints around an assistant's turn, found by rendering one. */
export type TurnMarks = {
  /** The string before the turn in a history, such as `<|im_start|>assistant\n`. */
  readonly header: string;
  /**
   * Strings that may end the turn, with the template's own end first. In a prompt, the sampled stop token replaces the
   * end. Empty if the template prints no end token.
   */
  readonly ends: readonly string[];
};

const answer = 'answer-of-the-assistant';
const question: ChatMessage = { role: 'user', content: 'x' };

/**
 * The marks that were found before. Finding them requires a rendering, which is slow, and the result is the same for
 * all episodes of a model.
 */
const known = new WeakMap<ChatTokenizer, TurnMarks>();

export function findTurnMarks(chatTokenizer: ChatTokenizer): TurnMarks {
  const found = known.get(chatTokenizer) ?? renderTurnMarks(chatTokenizer);
  known.set(chatTokenizer, found);
  return found;
}

function renderTurnMarks({ tokenizer, template }: ChatTokenizer): TurnMarks {
  const stops = template.stopIds.map((id) => tokenizer.decode([id])).filter((text) => text !== '');
  const before = tryRender(template, [question]) ?? '';
  const whole = tryRender(template, [question, { role: 'assistant', content: answer }, question]);
  const at = whole?.indexOf(answer) ?? -1;
  if (whole === undefined || at === -1) return { header: '', ends: stops };
  const after = whole.slice(at + answer.length);
  const [own] = stops.flatMap((stop) =>
    after.trimStart().startsWith(stop) ? [after.slice(0, after.indexOf(stop) + stop.length)] : [],
  );
  const header = whole.startsWith(before) ? whole.slice(before.length, at) : '';
  return { header, ends: own === undefined ? [] : [...new Set([own, ...stops])] };
}

/**
 * Returns what the template prints for a conversation. Returns undefined if the template refuses the conversation. The
 * prompt is then still correct, but without the marks it may reuse less.
 */
export function tryRender(template: ChatTokenizer['template'], messages: readonly ChatMessage[]): string | undefined {
  try {
    return template.render(messages, { addGenerationPrompt: false });
  } catch {
    return undefined;
  }
}

/** Returns the end string at this position of the text, or undefined. */
export function endAt(marks: TurnMarks, text: string, at: number): string | undefined {
  return marks.ends.find((end) => text.startsWith(end, at));
}

/** Returns the position of the first end string from here on, or -1. */
export function findEnd(marks: TurnMarks, text: string, from: number): number {
  let nearest = -1;
  for (const end of marks.ends) {
    // The search stops at the nearest end so far. Otherwise each search for an end that the text never contains would
    // scan the whole rest.
    const at = nearest === -1 ? text.indexOf(end, from) : text.slice(0, nearest + end.length - 1).indexOf(end, from);
    if (at !== -1) nearest = at;
  }
  return nearest;
}
