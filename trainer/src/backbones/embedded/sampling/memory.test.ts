import { expect, it } from 'vitest';
import { createRandom } from '@agentjet/core';
import { tinyModel } from '../training/testing-model.js';
import { collectGarbage } from '../../../testing/collect-garbage.js';
import { KvBatch } from './kv-batch.js';
import { createTestEngine } from './testing-engine.js';
import { StepSessionFactory } from './step-session.js';

it('keeps its memory flat while conversations come, grow and go', async () => {
  const model = tinyModel();
  const session = await new StepSessionFactory(model.config, model.layout, { threads: 1, contextLength: 64 }).open({
    format: 'float32',
    values: model.parameters,
  });
  const engine = createTestEngine(session, {
    maxBatchSize: 32,
    prefillTokens: 128,
    maxKvBytes: 1 << 22,
    maxPrefixCacheBytes: 1 << 20,
  });
  const random = createRandom(1);
  const converse = async (seed: number): Promise<void> => {
    let promptIds = Int32Array.from({ length: 1 + random.int(20) }, () => random.int(11));
    for (let turn = 0; turn < 3; turn += 1) {
      const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 1 + random.int(10), stopIds: [], seed };
      const { ids } = await engine.generate({ promptIds, sampling });
      promptIds = Int32Array.from([...promptIds, ...ids, 1]);
    }
  };
  const megabytesAfter = async (rounds: number): Promise<number> => {
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.all(Array.from({ length: 32 }, (_, seed) => converse(seed)));
      if (round % 10 === 0) collectGarbage();
    }
    return process.memoryUsage.rss() / 2 ** 20;
  };
  const early = await megabytesAfter(30);
  const late = await megabytesAfter(60);
  expect(engine.stats.decodeSteps).toBeGreaterThan(600);
  expect(late).toBeLessThan(1.2 * early);
  await Promise.all([session.close(), model.close()]);
});

it('gives the memory of keys and values back to the system at once', () => {
  const shape = { numLayers: 8, numKvHeads: 1, headDim: 64 };
  const bytes = 2 ** 28;
  const numTokens = bytes / (2 * shape.numLayers * shape.headDim * Float32Array.BYTES_PER_ELEMENT);
  const batch = new KvBatch(shape, bytes);
  const resident = (): number => process.memoryUsage.rss();
  const before = resident();
  for (let rows = 1; rows <= 8; rows *= 2) batch.resize(rows, numTokens / 8, []);
  for (const values of batch.views(0, 8)) values.fill(1);
  const full = resident();
  batch.release();
  expect(full - before).toBeGreaterThan(0.8 * bytes);
  expect(full - before).toBeLessThan(1.5 * bytes);
  expect(full - resident()).toBeGreaterThan(0.8 * bytes);
});
