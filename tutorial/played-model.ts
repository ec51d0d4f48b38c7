import { createServer, type Server } from 'node:http';

/** A program that replaces a language model, so that a tutorial needs no API key. */

export type PlayedRequest = {
  readonly messages: readonly { readonly role: string; readonly content: string | null }[];
  readonly seed?: number;
};
export type PlayedAnswer = { readonly content: string; readonly tool_calls?: readonly object[] };

function complete(model: string, answer: PlayedAnswer): object {
  const message = { role: 'assistant', ...answer };
  const finish_reason = answer.tool_calls === undefined ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return { id: 'chat', model, choices: [{ index: 0, message, finish_reason }], usage };
}

/** Serves it as OpenAI's Chat Completions. Resolves when it listens on this machine; port 0 picks a free one. */
export async function servePlayedModel(
  model: string,
  port: number,
  answer: (request: PlayedRequest) => PlayedAnswer,
): Promise<Server> {
  const respond = (path: string, text: string): object =>
    path.endsWith('/models') ? { data: [{ id: model }] } : complete(model, answer(JSON.parse(text) as PlayedRequest));
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      try {
        response.end(JSON.stringify(respond(request.url ?? '', text)));
      } catch (error) {
        response.statusCode = 400;
        response.end(JSON.stringify({ error: { message: String(error) } }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}
