import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { openOpenenv } from './openenv-environment.js';

const servers: WebSocketServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    for (const socket of server.clients) socket.terminate();
    server.close();
  }
});

/** Opens an environment in which the message of a step is its reward: `none`, or a number. */
async function openWorld(unrewarded: 'error' | 'zero' = 'error') {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  servers.push(server);
  server.on('connection', (socket) => {
    socket.on('message', (frame: Buffer) => {
      const { type, data } = JSON.parse(frame.toString()) as { type: string; data?: { message?: string } };
      if (type === 'close') return socket.close();
      const reward = type === 'reset' || data?.message === 'none' ? null : Number(data?.message);
      socket.send(
        JSON.stringify({ type: 'observation', data: { observation: { text: 'here' }, reward, done: false } }),
      );
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return openOpenenv({
    url,
    envType: null,
    actionField: 'message',
    textField: 'text',
    verdict: 'sum',
    unrewarded,
    tools: false,
  });
}

async function play(world: Awaited<ReturnType<typeof openWorld>>, ...actions: readonly string[]) {
  const task = { taskId: 'a', mainQuery: '', initMessages: [], metadata: {} };
  const session = await world.open(task, { seed: 1, signal: AbortSignal.timeout(20_000), episodeId: 'e' });
  for (const action of actions) await session.step?.(action);
  return session.evaluate?.();
}

it('has no verdict on an episode if the server has never given a reward', async () => {
  await expect(play(await openWorld(), 'none', 'none')).rejects.toThrow(
    /gave no reward, neither in this episode nor before.*environment\.openenv\.unrewarded=zero/,
  );
});

it('takes an episode without a reward as one that earned nothing if the server rewards others', async () => {
  const world = await openWorld();
  expect(await play(world, 'none', '0.5', '0.5')).toEqual({ reward: 1, isSuccess: true });
  expect(await play(world, 'none')).toEqual({ reward: 0, isSuccess: false });
});

it('counts it as 0 from the beginning if the configuration says so, and if the agent did nothing', async () => {
  expect(await play(await openWorld('zero'), 'none')).toEqual({ reward: 0, isSuccess: false });
  expect(await play(await openWorld())).toEqual({ reward: 0, isSuccess: false });
});
