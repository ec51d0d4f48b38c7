import type { ChatRequest } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import { type CallChat, chooseCallChat } from './call-chat.js';
import { applyResponseFormat } from './response-format.js';
import { applyToolChoice } from './tool-choice.js';

/** Returns the request as the tracker sees it, and the beginning of the answer that the model is given. */
export function toShown(
  request: ChatRequest,
  ofAgent: ChatTokenizer,
): { readonly shown: ChatRequest; readonly opening: string | undefined } & CallChat {
  const chat = chooseCallChat(ofAgent, request);
  const chosen = applyToolChoice(request, chat.chatTokenizer.template);
  return { shown: applyResponseFormat(chosen.request), opening: chosen.opening, ...chat };
}
