import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Backbone } from '@agentjet/core';
import { backboneCases } from '../../testing/backbone-cases.js';
import { engineCases } from '../../testing/engine-cases.js';
import { createTinyTaskBackbone } from '../../testing/tiny-task.js';
import { weightsCases } from '../../testing/weights-cases.js';
import { HashStepModel } from '../../testing/hash-step-model.js';
import { createTestEngine } from '../embedded/sampling/testing-engine.js';
import { openClient, writeModelConfig } from './testing/open-client.js';
import { TinkerServer } from './testing/tinker-server.js';

const vocabSize = 40;

const limits = { maxBatchSize: 8, prefillTokens: 256, maxKvBytes: 2 ** 26, maxPrefixCacheBytes: 2 ** 20 };

/** Combines the scheduler, which honours top-k and top-p, with the checkpoints of the tiny backbone. */
async function openWithScheduler(): Promise<Backbone> {
  const tiny = createTinyTaskBackbone(1);
  const engine = createTestEngine(new HashStepModel({ vocabSize }), limits);
  return Object.assign(Object.create(tiny) as Backbone, {
    engine,
    save: (dir: string) => tiny.save(dir),
    load: (dir: string) => tiny.load(dir),
    close: () => engine.close(),
  });
}

describe.each([
  { how: 'adds up', averages: false, wire: 'json' },
  { how: 'averages', averages: true, wire: 'json' },
  { how: 'takes rows as protobuf alone', averages: false, wire: 'protobuf' },
] as const)('the tinker backbone over a server that $how', ({ averages, wire }) => {
  let server: TinkerServer;
  let modelDir = '';
  const open = () => openClient(server, modelDir);

  beforeAll(async () => {
    server = await TinkerServer.start({ open: async () => createTinyTaskBackbone(1), wire });
    if (averages) server.faults.averages = true;
    modelDir = await writeModelConfig(5);
  });
  afterAll(async () => {
    await server.close();
    await rm(modelDir, { recursive: true });
  });

  test.each(backboneCases(open))('$name', ({ run }) => run());
  test.each(averages || wire === 'protobuf' ? [] : weightsCases(open, { vocabSize: 5 }))('$name', ({ run }) => run());
});

describe('the engine of the tinker backbone', () => {
  let server: TinkerServer;
  let modelDir = '';
  const open = async () => {
    const backbone = await openClient(server, modelDir, { isTrained: false });
    return { engine: backbone.engine, vocabSize, close: () => backbone.close() };
  };

  beforeAll(async () => {
    server = await TinkerServer.start({ open: openWithScheduler, contextLength: 96 });
    modelDir = await writeModelConfig(vocabSize);
  });
  afterAll(async () => {
    await server.close();
    await rm(modelDir, { recursive: true });
  });

  test.each(engineCases(open))('$name', ({ run }) => run());
});
