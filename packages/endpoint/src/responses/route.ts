import { randomUUID } from 'node:crypto';
import { openAIProtocol, parseBody, toOpenAIErrorBody, ApiError } from '@agentjet/chat-completions';
import type { Call } from '../call.js';
import { putResponse } from '../session.js';
import { type InputItem, listTools, responsesSchema, fromResponsesBody, toInputItems } from './request.js';
import { createResponseWriter, type OutputItem, toFailedBody, toOutputItems, toResponseBody } from './response.js';
import { readTools } from './tools.js';

/** Handles POST /v1/responses. */
export async function handleResponses(call: Call): Promise<Response> {
  const body = parseBody('responses', responsesSchema, call.body);
  const head = { id: `resp_${randomUUID()}`, created_at: Math.floor(Date.now() / 1000) };
  const input = toInputItems(body, (id) => call.session.items.get(id) as InputItem | undefined);
  const items = [...recall(call, body.previous_response_id), ...input];
  const tools = readTools(listTools(body, items));
  const view = { tools, withLogprobs: body.include?.includes('message.output_text.logprobs') === true };
  const request = fromResponsesBody(body, { items, tools, requestId: call.requestId(0) });
  const remember = async (output: readonly OutputItem[]): Promise<void> => {
    if (body.store === false) return;
    const { id } = head;
    const previousId = body.previous_response_id ?? null;
    const stored = { id, previousId, added: [...input, ...output], numOutput: output.length };
    putResponse(call.session, stored);
    await call.session.keep?.(stored);
  };

  if (body.stream !== true) {
    const complete = async (): Promise<unknown> => {
      const response = await call.generate(request);
      const output = toOutputItems(response, view);
      await remember(output);
      return toResponseBody(head, body, { response, output });
    };
    return call.respondJson(complete(), openAIProtocol);
  }

  const writer = createResponseWriter(view);
  return call.respondEvents(
    async (stream) => {
      writer.start(stream, toResponseBody(head, body));
      const response = await call.generate(request, {
        onDelta: writer.delta,
        ...(view.withLogprobs && { onTokens: writer.tokens }),
      });
      const output = writer.finish(response);
      await remember(output);
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
    throw new ApiError(
      400,
      'previous_response_not_found',
      `Previous response '${previousId}' was not stored in this episode.`,
      'previous_response_id',
    );
  }
  // The items are trusted, because only this session's own handler stores them.
  return items as readonly InputItem[];
}
