import { randomUUID } from 'node:crypto';
import { type Api, ApiError, type EventProtocol, parseBody, type ProtocolCall } from '@agentjet/chat-completions';
import { threadsUnsupported, toAnthropicErrorBody } from './error.js';
import { countTokensSchema, messagesSchema, fromMessagesBody } from './request.js';
import { createMessageWriter, toAnthropicMessage } from './response.js';

const protocol: EventProtocol = {
  toErrorBody: toAnthropicErrorBody,
  sendError: (stream, error) => stream.send(toAnthropicErrorBody(error), 'error'),
  heartbeat: `event: ping\ndata: ${JSON.stringify({ type: 'ping' })}\n\n`,
};

/** Anthropic's Messages. */
export const messagesApi: Api = {
  routes: [
    { protocol: 'messages', path: '/v1/messages', handle: handleMessages },
    { protocol: 'messages', path: '/v1/messages/count_tokens', handle: handleCountTokens },
  ],
  paths: /\/v1\/messages(\/|$)/,
  toErrorBody: toAnthropicErrorBody,
  models: {
    paths: ['/v1/models'],
    header: 'anthropic-version',
    list: (name) => ({ data: [describeModel(name)], has_more: false, first_id: name, last_id: name }),
    show: describeModel,
  },
};

function describeModel(name: string) {
  return { type: 'model', id: name, display_name: name, created_at: '1970-01-01T00:00:00Z' };
}

async function handleMessages(call: ProtocolCall): Promise<Response> {
  refuseThread(call.body);
  const body = parseBody('messages', messagesSchema, call.body);
  const id = `msg_${randomUUID()}`;
  const request = fromMessagesBody(body, call.requestId(0));
  if (body.stream !== true) {
    const pending = call.generate(request).then((response) => toAnthropicMessage(id, body.model, response));
    return call.respondJson(pending, protocol);
  }
  return call.respondEvents(async (stream) => {
    const writer = createMessageWriter(stream, id, body.model);
    writer.finish(await call.generate(request, { onDelta: writer.delta }));
  }, protocol);
}

/**
 * Counts the tokens of a prompt. Without this address, Claude Code would count tokens by asking for answers of one
 * token, and these answers would be trained.
 */
async function handleCountTokens(call: ProtocolCall): Promise<Response> {
  refuseThread(call.body);
  const body = parseBody('messages', countTokensSchema, call.body);
  const count = call.countPromptTokens(fromMessagesBody({ ...body, max_tokens: 1 }, call.requestId(0)));
  return call.respondJson(
    count.then((tokens) => ({ input_tokens: tokens })),
    protocol,
  );
}

/**
 * The tool runner of Anthropic's SDK asks the server to keep the conversation. This function refuses that. After the
 * error, the runner sends the whole conversation each time.
 */
function refuseThread(body: unknown): void {
  if (typeof body !== 'object' || body === null || !('thread' in body) || body.thread === null) return;
  throw new ApiError(
    400,
    threadsUnsupported,
    "Unsupported parameter: 'thread'. Send the whole conversation with each request.",
    'thread',
  );
}
