import { randomUUID } from 'node:crypto';
import { parseBody, toOpenAIErrorBody, WireError } from '@agentjet/chat-completions';
import type { Call } from '../call.js';
import { openAIProtocol } from '../openai-protocol.js';
import { type InputItem, responsesSchema, toChatRequest, toInputItems } from './request.js';
import { createResponseWriter, toFailedBody, toOutputItems, toResponseBody } from './response.js';

/** POST /v1/responses */
export async function handleResponses(call: Call): Promise<Response> {
  const body = parseBody(responsesSchema, call.body);
  const head = { id: `resp_${randomUUID()}`, created_at: Math.floor(Date.now() / 1000) };
  const items = [...recall(call, body.previous_response_id), ...toInputItems(body)];
  const request = toChatRequest(body, items, call.requestId(0));
  const remember = (output: readonly unknown[]): void => {
    if (body.store !== false) call.session.history.set(head.id, [...items, ...output]);
  };

  if (body.stream !== true) {
    const complete = async (): Promise<unknown> => {
      const response = await call.generate(request);
      const output = toOutputItems(response);
      remember(output);
      return toResponseBody(head, body, { response, output });
    };
    return call.respondJson(complete(), openAIProtocol);
  }

  const writer = createResponseWriter();
  return call.respondEvents(
    async (stream) => {
      writer.start(stream, toResponseBody(head, body));
      const response = await call.generate(request, writer.delta);
      const output = writer.finish(response);
      remember(output);
      const type = response.finishReason === 'length' ? 'response.incomplete' : 'response.completed';
      writer.send(type, { response: toResponseBody(head, body, { response, output }) });
    },
    {
      toErrorBody: toOpenAIErrorBody,
      sendError: (_stream, error) => writer.send('response.failed', { response: toFailedBody(head, body, error) }),
    },
  );
}

function recall(call: Call, previousId: string | undefined): readonly InputItem[] {
  if (previousId === undefined) return [];
  const items = call.session.history.get(previousId);
  if (items === undefined) {
    throw new WireError(
      400,
      'previous_response_not_found',
      `Previous response '${previousId}' was not stored in this episode.`,
      'previous_response_id',
    );
  }
  // Only what this session's own handler has put there.
  return items as readonly InputItem[];
}
