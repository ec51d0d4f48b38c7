import { isSameJsonText, type AssistantMessage, type ChatMessage, type ToolSpec } from '@agentjet/core';
import type { ChatTemplate, ChatTokenizer, ParsedReply } from '@agentjet/tokenizer';

/**
 * Finds the tokens that a model would sample to give an answer that another author wrote. The chat template renders the
 * conversation with and without the answer. The difference is what the model has to generate. The result is parsed like
 * a sampled answer, so that no answer with another meaning is imitated.
 */

export type AskedFor = {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolSpec[] | undefined;
  /** The forced beginning of the answer. It is part of the prompt and is not sampled. */
  readonly opening?: string | undefined;
};

/**
 * Returns the ids, of shape [T], including the token that ends the turn. Returns undefined if the template cannot
 * render the answer in a form that is parsed as the same answer.
 */
export function toAnswerIds(
  { tokenizer, template }: ChatTokenizer,
  asked: AskedFor,
  given: AssistantMessage,
): Int32Array | undefined {
  const { opening = '', messages, tools = [] } = asked;
  const prompt = template.render(messages, { tools, addGenerationPrompt: true });
  const answer = hasClosedThought(template, prompt) ? withoutThought(given) : given;
  const whole = template.render([...messages, answer], { tools, addGenerationPrompt: false });
  for (const said of sayings(template, { prompt, whole }, answer)) {
    if (!said.startsWith(opening)) continue;
    const ids = tokenizer.encode(said.slice(opening.length));
    const end = ids.findIndex((id) => template.stopIds.includes(id));
    const body = end === -1 ? ids : ids.subarray(0, end);
    const stop = end === -1 ? template.stopIds[0] : ids[end];
    if (stop === undefined || !saysTheSame(template, { text: opening + tokenizer.decode(body), tools }, answer))
      continue;
    return Int32Array.from([...body, stop]);
  }
  return undefined;
}

/** Whether the prompt ends with an empty thinking block, which turns thinking off. */
function hasClosedThought({ reasoningTags = [] }: ChatTemplate, prompt: string): boolean {
  const [open = '', close = ''] = reasoningTags;
  const at = prompt.lastIndexOf(open);
  return open !== '' && at !== -1 && prompt.slice(at).replaceAll(/\s/g, '') === open + close;
}

function withoutThought({ role, content, toolCalls, name }: AssistantMessage): AssistantMessage {
  return { role, content, ...(toolCalls !== undefined && { toolCalls }), ...(name !== undefined && { name }) };
}

type Printed = { readonly prompt: string; readonly whole: string };

/** Returns candidate texts of the answer, the likeliest first. A candidate may continue after the end of the turn. */
function sayings(template: ChatTemplate, { prompt, whole }: Printed, answer: AssistantMessage): readonly string[] {
  const shared = commonLength(prompt, whole);
  const said = whole.slice(shared);
  const thought = (answer.reasoning ?? '').trim();
  const [open, close] = template.reasoningTags ?? [];
  if (open === undefined || close === undefined) return [said];
  // The prompt may end inside a thinking block that the template does not render again.
  if (prompt.slice(shared).includes(open)) return [`${thought}\n${close}\n\n${said.trimStart()}`, said];
  return thought === '' ? [said] : [said, `${open}\n${thought}\n${close}\n\n${said.trimStart()}`];
}

function commonLength(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length++;
  return length;
}

type Said = { readonly text: string; readonly tools: readonly ToolSpec[] };

function saysTheSame(template: ChatTemplate, { text, tools }: Said, answer: AssistantMessage): boolean {
  const read = template.parse(text, { tools });
  if (read.malformedToolCalls > 0) return false;
  const { toolCalls = [] } = answer;
  // With lenient tool calls, bare JSON is parsed as calls. It is imitated as it was written.
  if (toolCalls.length === 0 && read.written !== undefined) return read.written.trim() === answer.content.trim();
  const areSameCalls =
    read.toolCalls.length === toolCalls.length &&
    toolCalls.every(({ name, arguments: written }, at) => {
      const call = read.toolCalls[at];
      return call?.name === name && isSameJsonText(call.arguments, written);
    });
  if (!areSameCalls) return false;
  const isWhole = toolCalls.length === 0 && text.trim() === answer.content.trim(); // thoughts may still be in the text
  return isWhole || (read.content.trim() === answer.content.trim() && isSameThought(template, read, answer));
}

/** Compares the thoughts. If the model's template has no thinking, they are ignored. */
function isSameThought(template: ChatTemplate, { reasoning = '' }: ParsedReply, answer: AssistantMessage): boolean {
  const thought = (answer.reasoning ?? '').trim();
  return reasoning.trim() === thought || !canThink(template);
}

/** Whether the model's answers may hold thoughts. */
function canThink(template: ChatTemplate): boolean {
  const [open = '', close = ''] = template.reasoningTags ?? [];
  return template.parse(`${open}\na\n${close}\n\nb`).content.trim() === 'b';
}
