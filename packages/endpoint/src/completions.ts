import { randomUUID } from 'node:crypto';
import {
  openAIProtocol,
  parseBody,
  samplingFields,
  streamFields,
  toSampling,
  toUsage,
} from '@agentjet/chat-completions';
import type { ChatRequest, ChatResponse } from '@agentjet/core';
import { z } from 'zod';
import type { Call } from './call.js';

const schema = z.strictObject({
  model: z.string(),
  prompt: z.union([z.string().min(1), z.tuple([z.string().min(1)])]),
  user: z.string().optional(),
  ...samplingFields,
  ...streamFields,
});
type Body = z.infer<typeof schema>;

/** Handles POST /v1/completions. The prompt becomes one user message, because the trained model is a chat model. */
export async function handleCompletion(call: Call): Promise<Response> {
  const body = parseBody('completions', schema, call.body);
  const head = {
    id: `cmpl-${randomUUID()}`,
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: body.model,
  };
  const request = toChatRequest(body, call.requestId(0));
  const choice = (text: string, finishReason: string | null) => ({
    ...head,
    choices: [{ index: 0, text, logprobs: null, finish_reason: finishReason }],
  });
  const finishOf = ({ finishReason }: ChatResponse): string => (finishReason === 'length' ? 'length' : 'stop');
  if (body.stream !== true) {
    const pending = call
      .generate(request)
      .then((response) => ({ ...choice(response.message.content, finishOf(response)), usage: toUsage([response]) }));
    return call.respondJson(pending, openAIProtocol);
  }
  return call.respondEvents(async (stream) => {
    const response = await call.generate(request, {
      onDelta: (delta) => {
        if (delta.type === 'content') stream.send(choice(delta.text, null));
      },
    });
    stream.send(choice('', finishOf(response)));
    if (body.stream_options?.include_usage === true) stream.send({ ...head, choices: [], usage: toUsage([response]) });
    stream.sendRaw('[DONE]');
  }, openAIProtocol);
}

function toChatRequest(body: Body, requestId: string): ChatRequest {
  const content = typeof body.prompt === 'string' ? body.prompt : body.prompt[0];
  return { messages: [{ role: 'user', content }], requestId, sampling: toSampling(body) };
}
