import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone, BackboneParts } from '@agentjet/core';
import { SwarmOperator } from '@agentjet/swarm-client';
import { serveStandby, serveSwarm } from '@agentjet/swarm-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { composeWith } from './compose-with.js';
import { freePort } from './free-port.js';

/** Stops servers while their model is being opened, which takes longer than a client waits. */

let dir = '';
let numOpening = 0;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'stopped-start-'));
  numOpening = 0;
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Never finishes opening the model. It rejects when the signal aborts. */
function open(_section: never, { signal }: BackboneParts): Promise<Backbone> {
  numOpening++;
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}

const composition = composeWith(open);

it('a server whose start is interrupted leaves off with the reason', async () => {
  const config = composition.create({ experimentDir: dir, model: { path: 'nano' } });
  const stopping = new AbortController();
  const { signal } = stopping;
  const starting = serveSwarm({ config, composition, port: 0, signal, onNotice: () => undefined });
  await Promise.race([starting, expect.poll(() => numOpening).toBe(1)]);
  stopping.abort(new Error('stopped by SIGINT'));
  await expect(starting).rejects.toThrow('stopped by SIGINT');
});

it('a server that waited for its run is closed while the model opens, and opens the same run the next time', async () => {
  const port = await freePort();
  const standBy = () => serveStandby({ dir, port, composition, onNotice: () => undefined });
  const first = await standBy();
  const operator = new SwarmOperator({ url: first.url, key: first.firstKey });
  await operator.begin({ model: { path: 'nano' } });
  await expect.poll(() => numOpening).toBe(1);
  await first.close();
  const next = await standBy();
  await expect.poll(() => numOpening).toBe(2);
  await next.close();
});
