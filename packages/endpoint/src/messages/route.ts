import { randomUUID } from 'node:crypto';
import type { Call } from '../call.js';
import { parseBody } from '../parse-body.js';
import type { EventProtocol } from '../event-stream.js';
import { toAnthropicErrorBody } from '../wire-error.js';
import { messagesSchema, toChatRequest } from './request.js';
import { createMessageWriter, toAnthropicMessage } from './response.js';

const protocol: EventProtocol = {
  toErrorBody: toAnthropicErrorBody,
  sendError: (stream, error) => stream.send(toAnthropicErrorBody(error), 'error'),
  heartbeat: `event: ping\ndata: ${JSON.stringify({ type: 'ping' })}\n\n`,
};

/** POST /v1/messages */
export async function handleMessages(call: Call): Promise<Response> {
  const body = parseBody(messagesSchema, call.body);
  const id = `msg_${randomUUID()}`;
  const request = toChatRequest(body, call.requestId(0));
  if (body.stream !== true) {
    const pending = call.generate(request).then((response) => toAnthropicMessage(id, body.model, response));
    return call.respondJson(pending, protocol);
  }
  return call.respondEvents(async (stream) => {
    const writer = createMessageWriter(stream, id, body.model);
    writer.start();
    writer.finish(await call.generate(request, writer.delta));
  }, protocol);
}
