import { chatCompletionSchema, completeChat, parseBody, streamChatCompletion } from '@agentjet/chat-completions';
import type { Call } from './call.js';
import { openAIProtocol } from './openai-protocol.js';

/** Handles POST /v1/chat/completions. */
export async function handleChatCompletion(call: Call): Promise<Response> {
  const body = parseBody('chat', chatCompletionSchema, call.body);
  if (body.stream !== true) return call.respondJson(completeChat(call, body, body.model), openAIProtocol);
  return call.respondEvents(async (stream) => {
    await streamChatCompletion(call, body, body.model, stream.send);
    stream.sendRaw('[DONE]');
  }, openAIProtocol);
}
