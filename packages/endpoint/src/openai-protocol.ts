import { toOpenAIErrorBody } from '@agentjet/chat-completions';
import type { EventProtocol } from './event-stream.js';

/** The error form of all of OpenAI's APIs except the streams of Responses. */
export const openAIProtocol: EventProtocol = {
  toErrorBody: toOpenAIErrorBody,
  sendError: (stream, error) => stream.send(toOpenAIErrorBody(error)),
};
