import { randomUUID } from 'node:crypto';
import type { Call } from '../call.js';
import { parseBody } from '../parse-body.js';
import { toAnthropicErrorBody, toWireError } from '../wire-error.js';
import { messagesSchema, toChatRequest } from './request.js';
import { createMessageWriter, toAnthropicMessage } from './response.js';

/** POST /v1/messages */
export async function handleMessages(call: Call): Promise<Response> {
  const body = parseBody(messagesSchema, call.body);
  const id = `msg_${randomUUID()}`;
  const request = toChatRequest(body, call.requestId(0));
  if (body.stream !== true) {
    const pending = call.generate(request).then((response) => toAnthropicMessage(id, body.model, response));
    return call.respondJson(pending, toAnthropicErrorBody);
  }
  const ping = `event: ping\ndata: ${JSON.stringify({ type: 'ping' })}\n\n`;
  return call.respondEvents(async (stream) => {
    const writer = createMessageWriter(stream, id, body.model);
    writer.start();
    try {
      writer.finish(await call.generate(request, writer.delta));
    } catch (thrown) {
      stream.send(toAnthropicErrorBody(toWireError(thrown)), 'error');
    }
  }, ping);
}
