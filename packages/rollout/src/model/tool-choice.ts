import { EngineError, type ChatRequest } from '@agentjet/core';

/**
 * What a tool choice does to the request that the model sees. `none` hides the tools: without them in the prompt the
 * model has no reason to call one. (The prompt then differs from one with tools, which the tracker counts as a fork.)
 * `required` and a named tool are refused by name until a template can force the opening of a call as prompt tokens.
 */
export function applyToolChoice(request: ChatRequest): ChatRequest {
  const { toolChoice = 'auto', tools: _hidden, ...rest } = request;
  if (toolChoice === 'auto') {
    return request;
  }
  if (toolChoice === 'none') {
    return rest;
  }
  const asked = toolChoice === 'required' ? 'required' : `{ name: "${toolChoice.name}" }`;
  throw new EngineError('bad_request', `Tool choice ${asked} is not supported by this model's chat template. Leave it at auto, or none.`);
}
