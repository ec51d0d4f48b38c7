import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * This server replaces the provider of the writer's model, so the tutorial needs no API key. It serves OpenAI's Chat
 * Completions on this machine and repeats the figure of the note, whole or streamed.
 */

type Body = { readonly stream?: boolean; readonly messages: readonly { readonly content: unknown }[] };

let opened: Promise<string> | undefined;

/** Resolves to the base URL. The server opens once and does not keep the process alive. */
export function openWriterServer(): Promise<string> {
  opened ??= listen();
  return opened;
}

function listen(): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body, response));
  });
  server.on('connection', (socket) => void socket.unref());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      server.unref();
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    });
  });
}

function answer({ stream, messages }: Body, response: ServerResponse): void {
  const figure = /Figure: (.*)$/.exec(String(messages.at(-1)?.content))?.[1] ?? '';
  const words = ['Thank you for your note: ', 'the figure is ', `${figure}.`];
  const common = { id: 'chatcmpl-1', created: 0, model: 'writer' };
  if (stream !== true) {
    const message = { role: 'assistant', content: words.join('') };
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        ...common,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta: object, finish: string | null): void => {
    const choices = [{ index: 0, delta, finish_reason: finish }];
    response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices })}\n\n`);
  };
  for (const content of words) send({ role: 'assistant', content }, null);
  send({}, 'stop');
  response.end('data: [DONE]\n\n');
}
