import { randomUUID } from 'node:crypto';
import type { ChatRequest, ChatResponse } from '@agentjet/core';
import { z } from 'zod';
import type { Call } from './call.js';
import { toUsage } from './chat-completions/response.js';
import { openAIProtocol } from './openai-protocol.js';
import { onlyNeutral, parseBody } from './parse-body.js';

const schema = z.strictObject({
  model: z.string(),
  prompt: z.union([z.string().min(1), z.tuple([z.string().min(1)])]),
  max_tokens: z.number().int().positive().nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).nullish(),
  seed: z.number().int().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  n: onlyNeutral(null, 1).optional(),
  best_of: onlyNeutral(null, 1).optional(),
  echo: onlyNeutral(null, false).optional(),
  suffix: onlyNeutral(null, '').optional(),
  logprobs: onlyNeutral(null, 0).optional(),
  frequency_penalty: onlyNeutral(null, 0).optional(),
  presence_penalty: onlyNeutral(null, 0).optional(),
  logit_bias: onlyNeutral(null, {}).optional(),
  user: z.string().nullish(),
});
type Body = z.infer<typeof schema>;

/** POST /v1/completions: the prompt is one user turn of the chat model, since that is what is trained. */
export async function handleCompletion(call: Call): Promise<Response> {
  const body = parseBody(schema, call.body);
  const head = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created: Math.floor(Date.now() / 1000), model: body.model };
  const request = toChatRequest(body, call.requestId(0));
  const choice = (text: string, finishReason: string | null) => ({ ...head, choices: [{ index: 0, text, logprobs: null, finish_reason: finishReason }] });
  const finishOf = ({ finishReason }: ChatResponse): string => (finishReason === 'length' ? 'length' : 'stop');
  if (body.stream !== true) {
    const pending = call.generate(request).then((response) => ({ ...choice(response.message.content, finishOf(response)), usage: toUsage([response]) }));
    return call.respondJson(pending, openAIProtocol);
  }
  return call.respondEvents(async (stream) => {
    const response = await call.generate(request, (delta) => {
      if (delta.type === 'content') stream.send(choice(delta.text, null));
    });
    stream.send(choice('', finishOf(response)));
    if (body.stream_options?.include_usage === true) stream.send({ ...head, choices: [], usage: toUsage([response]) });
    stream.sendRaw('[DONE]');
  }, openAIProtocol);
}

function toChatRequest(body: Body, requestId: string): ChatRequest {
  const stop = typeof body.stop === 'string' ? [body.stop] : body.stop;
  return {
    messages: [{ role: 'user', content: typeof body.prompt === 'string' ? body.prompt : body.prompt[0] }],
    requestId,
    sampling: {
      ...(typeof body.max_tokens === 'number' && { maxTokens: body.max_tokens }),
      ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
      ...(typeof body.top_p === 'number' && { topP: body.top_p }),
      ...(typeof body.seed === 'number' && { seed: body.seed }),
      ...(stop !== null && stop !== undefined && { stop }),
    },
  };
}
