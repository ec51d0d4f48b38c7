import { EngineError, type ChatRequest } from '@agentjet/core';
import type { ChatTemplate } from '@agentjet/tokenizer';

/** The effect of a tool choice on a call: the tools that the model sees, and the required beginning of its answer. */
export type ChosenTools = { readonly request: ChatRequest; readonly opening: string | undefined };

/**
 * Applies the tool choice of a request. `none` hides the tools, because without them in the prompt the model has no
 * reason to call one. (The tracker counts a fork, because such a prompt differs from a prompt with tools.) `required`
 * and a named tool give the model the opening of a call as prompt tokens that are not trained. The model writes the
 * rest.
 */
export function applyToolChoice(request: ChatRequest, template: ChatTemplate): ChosenTools {
  const { toolChoice = 'auto', tools = [], ...rest } = request;
  if (toolChoice === 'auto') return { request, opening: undefined };
  if (toolChoice === 'none') return { request: rest, opening: undefined };
  const name = toolChoice === 'required' ? undefined : toolChoice.name;
  const asked = name === undefined ? 'required' : `"${name}"`;
  if (tools.length === 0 || (name !== undefined && !tools.some((tool) => tool.name === name))) {
    throw new EngineError(
      'bad_request',
      `Tool choice ${asked} has no tool to call: the request has ${tools.map((tool) => tool.name).join(', ') || 'none'}.`,
    );
  }
  const opening = template.callOpening?.(name);
  if (opening === undefined) {
    throw new EngineError(
      'bad_request',
      `Tool choice ${asked} is not possible: this model's chat template has no form for tool calls. Leave it at auto, or none.`,
    );
  }
  return { request, opening };
}
