import { toOpenAIErrorBody } from '@agentjet/chat-completions';
import type { EventProtocol } from './event-stream.js';

/** Errors of all of OpenAI's APIs, but for the streams of Responses. */
export const openAIProtocol: EventProtocol = {
  toErrorBody: toOpenAIErrorBody,
  sendError: (stream, error) => stream.send(toOpenAIErrorBody(error)),
};
