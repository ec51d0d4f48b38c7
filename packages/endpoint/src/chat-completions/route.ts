import { randomUUID } from 'node:crypto';
import type { ChatResponse } from '@agentjet/core';
import type { Call } from '../call.js';
import { openAIProtocol } from '../openai-protocol.js';
import { parseBody } from '../parse-body.js';
import { type ChatCompletionBody, chatCompletionSchema, toChatRequest } from './request.js';
import { type ChatCompletionHead, createChunkWriter, toChatCompletion, toUsage } from './response.js';

/** POST /v1/chat/completions */
export async function handleChatCompletion(call: Call): Promise<Response> {
  const body = parseBody(chatCompletionSchema, call.body);
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: body.model };
  return body.stream === true ? streamCompletion(call, body, head) : call.respondJson(completeAll(call, body, head), openAIProtocol);
}

async function completeAll(call: Call, body: ChatCompletionBody, head: ChatCompletionHead): Promise<unknown> {
  const responses = await call.all(choices(body).map((index) => call.generate(toChatRequest(body, call.requestId(index)))));
  return toChatCompletion(head, responses, body.logprobs === true);
}

function streamCompletion(call: Call, body: ChatCompletionBody, head: ChatCompletionHead): Promise<Response> {
  return call.respondEvents(async (stream) => {
    const one = async (index: number): Promise<ChatResponse> => {
      const writer = createChunkWriter(stream, head, index);
      writer.start();
      const response = await call.generate(toChatRequest(body, call.requestId(index)), writer.delta);
      writer.finish(response, body.logprobs === true);
      return response;
    };
    const responses = await call.all(choices(body).map(one));
    if (body.stream_options?.include_usage === true) stream.send({ ...head, object: 'chat.completion.chunk', choices: [], usage: toUsage(responses) });
    stream.sendRaw('[DONE]');
  }, openAIProtocol);
}

const choices = (body: ChatCompletionBody): number[] => Array.from({ length: body.n ?? 1 }, (_, index) => index);
