import type { ChatRequest } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { applyResponseFormat } from './response-format.js';
import { applyToolChoice } from './tool-choice.js';

/** The request as the tracker is to see it, and what the answer is made to begin with. */
export function toShown(
  request: ChatRequest,
  template: ChatTokenizer['template'],
): { readonly shown: ChatRequest; readonly opening: string | undefined } {
  const chosen = applyToolChoice(request, template);
  return { shown: applyResponseFormat(chosen.request), opening: chosen.opening };
}
