import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BackboneParts, CommonConfig } from '@agentjet/core';
import { createTinyTaskBackbone, tinyTaskOptimizer } from '../../testing/tiny-task.js';
import { tinker } from './registration.js';
import { writeModelConfig } from './testing/open-client.js';
import { TinkerServer } from './testing/tinker-server.js';

let server: TinkerServer;
let modelDir: string;

beforeEach(async () => {
  server = await TinkerServer.start({ open: async () => createTinyTaskBackbone(1) });
  modelDir = await writeModelConfig(5);
});
afterEach(async () => {
  await server.close();
  await rm(modelDir, { recursive: true });
});

function open(parts: Partial<BackboneParts> = {}, useKlLoss = false) {
  const section = {
    baseUrl: server.url,
    apiKey: null,
    baseModel: null,
    profile: 'auto',
    wire: 'auto',
    rank: 8,
    checkpoint: 'adapter',
    keepStateEvery: 1,
  } as const;
  const trainerCommon = { seed: 1, useKlLoss, klLossCoef: 0.1 };
  const config = { trainerCommon, rollout: { maxModelLen: 64 } } as unknown as CommonConfig;
  return tinker.open(section, { config, modelDir, optimizer: tinyTaskOptimizer, notice: () => undefined, ...parts });
}

test('a run with a KL loss makes its second model at start, others do not', async () => {
  server.faults.onlyOneModel = true;
  await expect(open({}, true)).rejects.toMatchObject({ message: expect.stringContaining('use_kl_loss') });
  await (await open()).close();
});

test('an interruption ends the opening', async () => {
  const stopping = new AbortController();
  const reason = new Error('stopped');
  server.onHang = () => stopping.abort(reason);
  server.faults.hangs = { route: 'create_model', times: 1 };
  await expect(open({ signal: stopping.signal })).rejects.toBe(reason);
});
