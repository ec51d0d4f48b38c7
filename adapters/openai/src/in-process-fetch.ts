import { EngineError, type ChatModel } from '@agentjet/core';
import { allOrLeave, type Call, openCall } from './call.js';
import { streamCompletion } from './stream-completion.js';
import { toCompletion, toWireError } from './wire-response.js';

/**
 * What the OpenAI SDK calls in place of `fetch`: a ChatModel that answers in this process. Everything above it (parsing,
 * streams, helpers, errors) is the SDK's own.
 */
export function createInProcessFetch(model: ChatModel): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const keyed = new Map<string, string>();
  const described = { id: model.name, object: 'model', created: 0, owned_by: 'agentjet' };
  return async (url, init = {}) => {
    try {
      const { pathname } = new URL(url instanceof Request ? url.url : url);
      if (pathname.endsWith('/models')) return Response.json({ object: 'list', data: [described] });
      if (/\/models\/[^/]+$/.test(pathname)) return Response.json(described);
      if (!pathname.endsWith('/chat/completions') || init.method?.toUpperCase() !== 'POST') throw unknownPath(pathname, init.method);
      return await complete(openCall(model, init, keyed));
    } catch (error) {
      if (init.signal?.aborted) throw new DOMException('The call was aborted.', 'AbortError');
      const { status, body } = toWireError(error);
      return Response.json(body, { status });
    }
  };
}

async function complete(call: Call): Promise<Response> {
  if (call.body.stream === true) return streamCompletion(call);
  const responses = await allOrLeave(call, (choice) => call.generate(choice));
  return Response.json(toCompletion(call.head, responses, call.body.logprobs === true));
}

function unknownPath(pathname: string, method = 'GET'): EngineError {
  return new EngineError('not_found', `${method.toUpperCase()} ${pathname} is not served in process. Use chat.completions, or tuner.asOpenAIEndpoint() for the other APIs.`);
}
