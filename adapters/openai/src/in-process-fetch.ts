import { completeChat, toOpenAIErrorBody, toApiError, ApiError } from '@agentjet/chat-completions';
import type { ChatModel } from '@agentjet/core';
import { type ClientCall, openCall } from './call.js';
import { streamCompletion } from './stream-completion.js';

/**
 * Replaces `fetch` in the OpenAI SDK with a ChatModel in this process. Parsing, streams, helpers and errors remain the
 * SDK's own.
 */
export function createInProcessFetch(
  model: ChatModel,
): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const keyed = new Map<string, string>();
  const described = { id: model.name, object: 'model', created: 0, owned_by: 'agentjet' };
  return async (url, init = {}) => {
    try {
      const { pathname } = new URL(url instanceof Request ? url.url : url);
      if (pathname.endsWith('/models')) return Response.json({ object: 'list', data: [described] });
      if (/\/models\/[^/]+$/.test(pathname)) return Response.json(described);
      if (!pathname.endsWith('/chat/completions') || init.method?.toUpperCase() !== 'POST')
        throw unknownPath(pathname, init.method);
      return await answer(openCall(model, init, keyed));
    } catch (thrown) {
      if (init.signal?.aborted) throw new DOMException('The call was aborted.', 'AbortError');
      const error = toApiError(thrown);
      return Response.json(toOpenAIErrorBody(error), { status: error.status });
    }
  };
}

async function answer(call: ClientCall): Promise<Response> {
  if (call.body.stream === true) return streamCompletion(call);
  return Response.json(await completeChat(call, call.body, call.modelName));
}

function unknownPath(pathname: string, method = 'GET'): ApiError {
  return new ApiError(
    404,
    'not_found',
    `${method.toUpperCase()} ${pathname} is not served in process. Use chat.completions, or tuner.asOpenAIEndpoint() for the other APIs.`,
  );
}
