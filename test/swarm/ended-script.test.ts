import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';

const script = path.resolve(import.meta.dirname, '../../tutorial/swarm/sums.sh');

it.skipIf(process.platform === 'win32')('no process of the client in bash outlives it', async () => {
  let ask = (): void => {};
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const server = createServer((_request, response) => {
    ask();
    response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn('bash', [script, url], { env: { ...process.env, AJET_SWARM_KEY: 'key' } });
  const closed = once(child, 'close'); // after the last process that holds its output has ended
  await asked;
  child.kill('SIGTERM');
  const ended: readonly unknown[] = await closed;
  server.close();
  expect(ended).toEqual([null, 'SIGTERM']);
});
