import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import type { ChatTemplate, ParsedReply } from '@agentjet/tokenizer';
import { isSameArguments } from '../history/same-arguments.js';
import type { SeenState, GeneratedTurn } from '../history/seen-state.js';
import { endAt, findEnd, tryRender, type TurnMarks } from './turn-marks.js';

/** How far a rendered prompt repeats what was seen: the number of states, and the position in the text after them. */
export type Alignment = { readonly numKept: number; readonly at: number };

type Piece =
  | Pick<GeneratedTurn, 'kind' | 'text' | 'isStopped' | 'message' | 'node'>
  | { readonly kind: 'prompt'; readonly text: string };

/**
 * Compares a rendered prompt with the chain of what was seen. Prompt text must match letter by letter. A recorded turn
 * may be printed differently as long as it has the same content. It then keeps the model's own tokens. If a template
 * removes something from the turn, such as its reasoning, the alignment ends before the turn.
 */
export function align(
  rendered: string,
  chain: readonly (SeenState | Piece)[],
  template: ChatTemplate,
  marks: TurnMarks,
): Alignment {
  let at = 0;
  for (const [numKept, piece] of chain.entries()) {
    const next =
      piece.kind === 'prompt' ? skipText(rendered, at, piece.text) : skipTurn(rendered, at, piece, template, marks);
    if (next === undefined) return { numKept, at };
    at = next;
  }
  return { numKept: chain.length, at };
}

function skipText(rendered: string, at: number, text: string): number | undefined {
  return rendered.startsWith(text, at) ? at + text.length : undefined;
}

function skipTurn(
  rendered: string,
  at: number,
  turn: Extract<Piece, { kind: 'turn' }>,
  template: ChatTemplate,
  marks: TurnMarks,
): number | undefined {
  const end =
    rendered.startsWith(turn.text, at) && isTurnEnd(rendered, at + turn.text.length, marks)
      ? at + turn.text.length
      : findOtherEnd(rendered, at, turn, template, marks);
  if (end === undefined) return undefined;
  return turn.isStopped ? end + (endAt(marks, rendered, end)?.length ?? 0) : end;
}

/** Returns whether the turn ends at this position. If the template prints no end token, every position counts. */
function isTurnEnd(rendered: string, at: number, marks: TurnMarks): boolean {
  return marks.ends.length === 0 || endAt(marks, rendered, at) !== undefined;
}

function findOtherEnd(
  rendered: string,
  at: number,
  { message, node }: Pick<GeneratedTurn, 'message' | 'node'>,
  template: ChatTemplate,
  marks: TurnMarks,
): number | undefined {
  const end = findEnd(marks, rendered, at);
  if (end === -1) return undefined;
  const printed = rendered.slice(at, end);
  const reply = template.parse(printed, { tools: node.tools });
  return saysTheSame(reply, message) || isPrintOf(printed, message, template) ? end : undefined;
}

/**
 * Returns whether `printed` is what the template prints for this message. This check handles content that looks like a
 * call but is not one. Such content cannot be parsed again, and a template prints it before the calls, even if the
 * model wrote it after them.
 */
function isPrintOf(printed: string, message: AssistantMessage, template: ChatTemplate): boolean {
  const { content, reasoning = '', toolCalls = [] } = message;
  if (toolCalls.length === 0 || content === '' || reasoning !== '') return false;
  const whole = tryRender(template, [question, message]);
  return (
    whole?.includes(printed) === true &&
    [content.trim(), ...toolCalls.map((call) => call.arguments)].every((part) => printed.includes(part))
  );
}

const question: ChatMessage = { role: 'user', content: 'x' };

function saysTheSame(printed: ParsedReply, own: AssistantMessage): boolean {
  const calls = own.toolCalls ?? [];
  const isSameCall = (call: ParsedReply['toolCalls'][number], index: number): boolean =>
    call.name === calls[index]?.name && isSameArguments(call.arguments, calls[index].arguments);
  return (
    printed.content.trim() === own.content.trim() &&
    (printed.reasoning ?? '').trim() === (own.reasoning ?? '').trim() &&
    printed.toolCalls.length === calls.length &&
    printed.toolCalls.every(isSameCall)
  );
}
