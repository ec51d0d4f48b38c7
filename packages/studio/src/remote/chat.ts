import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { TalkModel, ChatQuestion } from '../wire.js';
import { bearerHeaders, readRemote, sayCause, type Remote } from './read-remote.js';

/** A model server that the user started, under the name that the page shows. */
export type TalkServer = Remote & { readonly name: string };

/** Returns the models of the servers. A server that cannot be reached has a problem instead of a model. */
export function listChats(servers: readonly TalkServer[]): Promise<readonly TalkModel[]> {
  return Promise.all(
    servers.map(async (server) => {
      const answer = await readRemote(server, '/v1/models');
      const { name, url } = server;
      if ('problem' in answer) return { name, url, problem: answer.problem };
      const [first] = Array.isArray(answer.value['data']) ? answer.value['data'].filter(isJsonObject) : [];
      const id = first?.['id'];
      return typeof id === 'string' ? { name, url, model: id } : { name, url, problem: `${url} serves no model.` };
    }),
  );
}

/** Reads a request of the page. Returns undefined if the value is not a valid request. */
export function parseChat(value: JsonObject): ChatQuestion | undefined {
  const { chat, model, messages, temperature = 1 } = value;
  if (!Number.isInteger(chat) || typeof model !== 'string' || typeof temperature !== 'number') return undefined;
  if (!(temperature >= 0 && temperature <= 2) || !Array.isArray(messages) || messages.length === 0) return undefined;
  const said = messages
    .filter(isJsonObject)
    .flatMap(({ role, content }) =>
      (role === 'system' || role === 'user' || role === 'assistant') && typeof content === 'string'
        ? [{ role, content } as const]
        : [],
    );
  return said.length === messages.length ? { chat: chat as number, model, messages: said, temperature } : undefined;
}

/** Passes a request to the server, and streams the answer back. */
export async function askChat(server: TalkServer, request: ChatQuestion, signal: AbortSignal): Promise<Response> {
  const { model, messages, temperature } = request;
  try {
    const answer = await fetch(`${server.url.replace(/\/+$/, '')}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearerHeaders(server.key) },
      body: JSON.stringify({ model, messages, temperature, stream: true }),
      redirect: 'error',
      signal,
    });
    const type = answer.ok ? 'text/event-stream' : 'application/json';
    return new Response(answer.body, { status: answer.status, headers: { 'content-type': type } });
  } catch (thrown) {
    return Response.json({ error: `${server.url} cannot be reached: ${sayCause(thrown)}` }, { status: 502 });
  }
}
