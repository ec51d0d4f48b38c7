import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startAjet } from './support/run-ajet.js';

it('a slow reader of a pipe gets the whole of a long answer', async () => {
  const episodes = Array.from({ length: 20_000 }, (_none, index) => ({ episode_id: `e${index}`, state: 'trained' }));
  const server = createServer((_request, response) => response.end(JSON.stringify({ episodes })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { child, finished } = startAjet(tmpdir(), ['swarm', 'episodes', '--no-keys', '--json', '--server', url]);
  child.stdout?.pause();
  await once(server, 'request');
  await sleep(1000); // from here on the command only waits for its reader
  child.stdout?.resume();
  const { code, stdout } = await finished;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ episodes });
  server.close();
});
