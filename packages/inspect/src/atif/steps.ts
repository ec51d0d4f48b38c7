import type { AtifStep } from '@agentjet/atif';
import { toArgumentObject, toArgumentText } from '@agentjet/core';
import type { ParsedReply } from '@agentjet/tokenizer';

/** Steps before they have numbers. Results are added to the step whose call they answer. */
export type OpenSteps = Omit<AtifStep, 'step_id'>[];

/** Converts an answer. Its calls have ids that are unique in the document, because the record does not keep the ids. */
export function toAnswerFields(
  { content, reasoning, toolCalls }: ParsedReply,
  prefix: string,
): Pick<AtifStep, 'message' | 'reasoning_content' | 'tool_calls'> {
  const calls = toolCalls.map(({ name, arguments: text }, at) => {
    const args = toArgumentObject(text);
    return {
      tool_call_id: `${prefix}_${at}`,
      function_name: name,
      arguments: args,
      // The spelling of the model, if printing the object would lose it.
      ...(toArgumentText(args) !== text && { extra: { arguments_text: text } }),
    };
  });
  return {
    message: content,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Adds the result of a tool to the last answer. It belongs to the first call of this answer without a result. */
export function addResult(steps: OpenSteps, content: string, name: string | undefined): void {
  const at = steps.findLastIndex(({ source }) => source === 'agent');
  const step = steps[at];
  if (step === undefined) {
    steps.push({ source: 'user', message: content, extra: { author: 'tool', ...(name !== undefined && { name }) } });
    return;
  }
  const results = step.observation?.results ?? [];
  const answered = new Set(results.map(({ source_call_id: id }) => id));
  const call = step.tool_calls?.find(({ tool_call_id: id }) => !answered.has(id));
  const result = {
    ...(call !== undefined && { source_call_id: call.tool_call_id }),
    content,
    ...(name !== undefined && { extra: { name } }),
  };
  steps[at] = { ...step, observation: { results: [...results, result] } };
}
