import { completeChat, streamChatCompletion } from './answer.js';
import { toOpenAIErrorBody } from './api-error.js';
import type { EventProtocol } from './event-stream.js';
import { parseBody } from './parse-body.js';
import type { Api, ProtocolCall } from './protocol-call.js';
import { chatCompletionSchema, toChatRequest } from './request.js';

/** The error form of all of OpenAI's APIs except the streams of Responses. */
export const openAIProtocol: EventProtocol = {
  toErrorBody: toOpenAIErrorBody,
  sendError: (stream, error) => stream.send(toOpenAIErrorBody(error)),
};

/** OpenAI's Chat Completions. */
export const chatApi: Api = {
  routes: [
    { protocol: 'chat', path: '/v1/chat/completions', handle: handleChatCompletion },
    { protocol: 'chat', path: '/v1/chat/completions/count_tokens', handle: handleCountTokens },
  ],
  paths: /\/v1\/chat\//,
  toErrorBody: toOpenAIErrorBody,
  models: {
    paths: ['/v1/models'],
    list: (name) => ({ object: 'list', data: [describeModel(name)] }),
    show: describeModel,
  },
};

function describeModel(name: string) {
  return { id: name, object: 'model', created: 0, owned_by: 'agentjet' };
}

async function handleChatCompletion(call: ProtocolCall): Promise<Response> {
  const body = parseBody('chat', chatCompletionSchema, call.body);
  if (body.stream !== true) return call.respondJson(completeChat(call, body, body.model), openAIProtocol);
  return call.respondEvents(async (stream) => {
    await streamChatCompletion(call, body, body.model, stream.send);
    stream.sendRaw('[DONE]');
  }, openAIProtocol);
}

/** Counts the tokens of a prompt. OpenAI has no such address; a client of a swarm uses it. */
async function handleCountTokens(call: ProtocolCall): Promise<Response> {
  const request = toChatRequest(parseBody('chat', chatCompletionSchema, call.body));
  const requestId = call.requestId(0);
  const count = call.countPromptTokens({ ...request, ...(requestId !== undefined && { requestId }) });
  return call.respondJson(
    count.then((tokens) => ({ input_tokens: tokens })),
    openAIProtocol,
  );
}
