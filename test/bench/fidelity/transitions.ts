import type { ChatMessage, ChatRequest } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { ScriptedRequest } from '@agentjet/rollout/testing';

/** One call of a conversation: the framework's request, and the prompt and the answer of the engine. */
export type RecordedCall = { readonly sent: ChatRequest; readonly engine: ScriptedRequest };

export type TransitionCounts = { readonly transitions: number; readonly kept: number; readonly wrongSplices: number };

/**
 * Takes the calls of one conversation in order. Counts the prompts that continue exactly the ids of the previous call,
 * and the prompts in which the ids of one turn replace those of another.
 */
export function countTransitions(calls: readonly RecordedCall[], chatTokenizer: ChatTokenizer): TransitionCounts {
  // If a prompt continues the exact ids, its earlier turns are right by construction. Only the other prompts need a
  // check.
  const missed = calls.flatMap((call, at) =>
    at === 0 || goesOnFrom(call, calls[at - 1]) ? [] : [{ call, earlier: calls.slice(0, at) }],
  );
  const transitions = Math.max(0, calls.length - 1);
  return {
    transitions,
    kept: transitions - missed.length,
    wrongSplices: missed.filter(({ call, earlier }) => hasWrongSplice(call, earlier, chatTokenizer)).length,
  };
}

function goesOnFrom(call: RecordedCall, before: RecordedCall | undefined): boolean {
  const prompt = call.engine.request.promptIds;
  const seen = [...(before?.engine.request.promptIds ?? []), ...(before?.engine.completion?.ids ?? [])];
  return seen.every((id, index) => prompt[index] === id);
}

/** Returns whether an assistant's turn in the prompt is neither what was sent nor the model's own text of that turn. */
function hasWrongSplice(
  { sent, engine }: RecordedCall,
  earlier: readonly RecordedCall[],
  { tokenizer, template }: ChatTokenizer,
): boolean {
  const shown = assistantTexts(engine.text);
  const asSent = assistantTexts(
    template.render(sent.messages, { addGenerationPrompt: true, ...(sent.tools && { tools: sent.tools }) }),
  );
  const own = earlier.map((call) => ({
    call,
    text: turnText(tokenizer.decode([...(call.engine.completion?.ids ?? [])])),
  }));
  const meant = sent.messages.filter((message) => message.role === 'assistant');
  return shown.some(
    (text, at) =>
      text !== asSent[at] &&
      !own.some((turn) => isPrinted(turn.text, text, template) && isMeant(meant[at], turn.text, template)),
  );
}

/** Compares letter by letter, or with the output of a template that removes thinking. */
function isPrinted(ownText: string, shown: string, template: ChatTokenizer['template']): boolean {
  if (ownText === shown) return true;
  const [own, printed] = [template.parse(ownText), template.parse(shown)];
  return (
    printed.reasoning === undefined &&
    own.content.trim() === printed.content.trim() &&
    JSON.stringify(own.toolCalls) === JSON.stringify(printed.toolCalls)
  );
}

function isMeant(message: ChatMessage | undefined, ownText: string, template: ChatTokenizer['template']): boolean {
  if (message?.role !== 'assistant') return false;
  const own = template.parse(ownText);
  const names = (message.toolCalls ?? []).map(({ name }) => name).join();
  return own.content.trim() === message.content.trim() && own.toolCalls.map(({ name }) => name).join() === names;
}

/** Returns the texts of the assistant's turns of a ChatML prompt, in order. */
function assistantTexts(prompt: string): readonly string[] {
  return prompt.split('<|im_start|>assistant\n').slice(1, -1).map(turnText);
}

function turnText(text: string): string {
  return text.split('<|im_end|>')[0] ?? '';
}
