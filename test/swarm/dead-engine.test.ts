import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, type Backbone, type BackboneParts } from '@agentjet/core';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { expect, it } from 'vitest';
import { composeWith, openEmbedded } from './compose-with.js';
import { sayOnce } from './say-once.js';

/** The process of the only model ends at its first call, and again whenever the model is opened again. */

let numOpened = 0;

async function open(section: never, parts: BackboneParts): Promise<Backbone> {
  numOpened++;
  const backbone = await openEmbedded(section, parts);
  const death = new AbortController();
  const error = new BackboneError('out_of_memory', 'The worker ended without memory.');
  const engine: Backbone['engine'] = {
    contextLength: backbone.engine.contextLength,
    generate: async () => {
      death.abort(error);
      throw error;
    },
  };
  const replaced = { engine, gone: death.signal };
  return new Proxy(backbone, {
    get: (target, name) => {
      if (name in replaced) return Reflect.get(replaced, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const composition = composeWith(open);

it('stops after three more tries with the cause, and hands out no further episode that would be lost', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'dead-engine-'));
  const config = composition.create({
    experimentDir: dir,
    model: { path: 'nano' },
    rollout: { numRepeat: 2 },
    trainerCommon: { valBeforeTrain: false },
  });
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  const served = await serveSwarm({ config, composition, port: 0, onNotice });
  const { server } = served;
  const leaving = new AbortController();
  try {
    const tasks = Array.from({ length: 8 }, (_none, index) => ({ taskId: `t${index}`, mainQuery: `Say ${index}` }));
    const client = new SwarmClient({ url: server.url, key: server.firstKey });
    const running = client.run(sayOnce, { tasks, parallel: 4, signal: leaving.signal });
    await expect.poll(() => server.swarm?.describe().state).toBe('failed');
    expect(numOpened).toBe(4);
    const stopped = notices.filter((message) => message.startsWith('Training has stopped.'));
    expect(stopped).toEqual([expect.stringMatching(/ended without memory\. It failed 4 times.*"ajet swarm start"/)]);
    leaving.abort();
    expect((await running).outages).toBeLessThanOrEqual(4 * 4); // those that ran when the model died
    const claim = { claim_id: 'one', client: 'raw', life: 'one', can: ['default'], count: 1, wait_seconds: 0 };
    const answer = await fetch(`${server.url}/swarm/v1/episodes`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(claim),
    });
    expect(await answer.json()).toMatchObject({ episodes: [], reason: 'starting' });
  } finally {
    leaving.abort();
    await served.close();
    await rm(dir, { recursive: true, force: true });
  }
});
