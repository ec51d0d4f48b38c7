import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const swarm = {
  state: 'rolling',
  step: 3,
  running: 5,
  capacity: 8,
  groups_open: 2,
  groups_pooled: 1,
  account: { trained: 40, pooled: 4 },
  dropped_by_reason: { stale: 2 },
  shares: { math: { part: 0.5, tasks: 9, in_flight: 2, trained: 30, asked: 4, got: 3, lent: 0, carry: 0, idle: true } },
};

/** Opens a server that repeats each question in the form of `ajet serve`, and that also describes a swarm. */
export async function openModels(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => void (body += piece.toString()));
    request.on('end', () => {
      const place = request.url ?? '';
      if (place === '/v1/chat/completions') return void response.end(answer(body));
      if (place === '/v1/models') return void response.end('{"data":[{"id":"lake"}]}');
      if (place === '/swarm/v1/server') return void response.end(JSON.stringify(swarm));
      const episodes = ['running', 'trained'].map((state) => ({ client: 'worker-1', state }));
      response.end(JSON.stringify({ episodes }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(body: string): string {
  const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly content: string }[] };
  const pieces = [messages.at(-1)?.content ?? '', ' <b>Left</b>', '.'];
  const lines = pieces.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
  return `${lines.join('')}data: [DONE]\n\n`;
}
