import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { type Backbone, createRandom, type LossOptions, type TrainBatch } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { packFor } from '../../packing/pack-for.js';
import { createRandomSamples } from '../../testing/random-samples.js';
import { freePort, makeTinyModel } from '../torch/testing-worker.js';
import type { VerlBackbone } from './create-verl-backbone.js';
import type { VerlBackboneOptions } from './options.js';
import { asksVerl, startTinyVerl, testPython } from './testing-driver.js';
import { plainLoss } from '../../testing/plain-loss.js';

const timeout = 1_800_000;
const vocabSize = 61;
/** The number of rows is odd, so one worker's share is filled up. */
const samples = createRandomSamples(createRandom(8), { numRows: 7, maxLength: 20, vocabSize, numEpisodes: 7 });
const loss: LossOptions = { ...plainLoss, klCoef: 0.1, entropyCoef: 0.01 };
const sampling = { temperature: 0, topP: 1, topK: 0, maxTokens: 6, stopIds: [], seed: 1 };

const batchFor = (backbone: Backbone): TrainBatch => ({
  packs: packFor(backbone, samples, { maxPackTokens: 64 }).packs,
  loss,
});

/** Makes two steps, samples after them, and leaves a checkpoint in `dir`. */
async function train(backbone: VerlBackbone, dir: string) {
  const first = await backbone.trainStep(batchFor(backbone));
  const second = await backbone.trainStep(batchFor(backbone));
  const scores = await backbone.logprobs(samples);
  const sampled = await Promise.all(
    [1, 2, 3].map((id) => backbone.engine.generate({ promptIds: Int32Array.of(id, 2), sampling })),
  );
  await backbone.save(dir);
  const numbers = [first, second].flatMap(({ loss: value, gradNorm, kl, entropy, clipFraction }) => [
    value,
    gradNorm,
    kl,
    entropy,
    clipFraction,
  ]);
  return { numbers, scores: scores.flatMap((row) => [...row]), sampled: sampled.map(({ ids }) => [...ids]) };
}

function expectAlike(found: readonly (number | null)[], expected: readonly (number | null)[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [at, value] of found.entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 4);
}

/**
 * Compares with a tolerance, because two workers add gradients in another order. AdamW turns the rounding of a gradient
 * near zero into whole steps (measured: 1.3e-5).
 */
function expectScoresAlike(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  const gaps = found.map((value, at) => Math.abs(value - (expected[at] ?? Number.NaN)) / Math.max(1, Math.abs(value)));
  expect(Math.max(...gaps)).toBeLessThan(1e-4);
}

describe.skipIf(!asksVerl || process.platform !== 'linux')('several workers of verl', { timeout }, () => {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'ajet-verl-'));
  let modelDir = '';
  let expected: Awaited<ReturnType<typeof train>>;

  beforeAll(async () => {
    modelDir = await makeTinyModel();
    const alone = await startTinyVerl(modelDir);
    expected = await train(alone, path.join(scratch, 'alone'));
    await alone.close();
  }, timeout);

  async function expectTheSame(options: Partial<VerlBackboneOptions>, name: string): Promise<void> {
    const backbone = await startTinyVerl(modelDir, options);
    expect(backbone.workerInfo.numWorkers).toBe(2);
    const found = await train(backbone, path.join(scratch, name));
    expectAlike(found.numbers, expected.numbers);
    expectScoresAlike(found.scores, expected.scores);
    expect(found.sampled).toEqual(expected.sampled);
    await backbone.load(path.join(scratch, 'alone'));
    expectAlike(
      (await backbone.logprobs(samples)).flatMap((row) => [...row]),
      expected.scores,
    );
    await backbone.close();
  }

  test('on one host train, sample and load as one worker does', () => expectTheSame({ gpusPerNode: 2 }, 'two'));

  describe('on a Ray cluster that was started before', () => {
    let cluster: RayCluster;
    beforeAll(async () => {
      cluster = await startRay();
    }, timeout);
    afterAll(() => cluster.close(), timeout);

    test.each(['all', 'node'] as const)('of two nodes, with shards over %s, do so too', async (shardOver) => {
      await expectTheSame({ rayAddress: cluster.address, numNodes: 2, shardOver }, shardOver);
      expect(cluster.isAlive()).toBe(true);
    });

    test('is left alone by a run that starts another Ray', async () => {
      const backbone = await startTinyVerl(modelDir);
      expect(backbone.workerInfo.numWorkers).toBe(1);
      await backbone.close();
      expect(cluster.isAlive()).toBe(true);
    });
  });
});

type RayCluster = { readonly address: string; isAlive(): boolean; close(): Promise<void> };

/** Starts two Ray nodes on this host, as `ray start` makes them. */
async function startRay(): Promise<RayCluster> {
  const address = `127.0.0.1:${await freePort()}`;
  const nodes = [await startNode(['--head', `--port=${address.split(':')[1]}`, '--include-dashboard=false'])];
  nodes.push(await startNode([`--address=${address}`]));
  return {
    address,
    isAlive: () => nodes.every(({ exitCode }) => exitCode === null),
    close: async () => {
      for (const node of nodes.reverse()) {
        const ended = once(node, 'exit');
        if (node.exitCode === null && node.kill('SIGTERM')) await ended;
      }
    },
  };
}

async function startNode(args: readonly string[]): Promise<ChildProcess> {
  const ray = path.join(path.dirname(testPython), 'ray');
  const common = ['start', '--block', '--node-ip-address=127.0.0.1', '--num-cpus=2', '--object-store-memory=100000000'];
  const node = spawn(ray, [...common, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CUDA_VISIBLE_DEVICES: '', RAY_USAGE_STATS_ENABLED: '0' },
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    node.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('Ray runtime started')) resolve();
    });
    node.once('exit', () => reject(new Error(`ray start failed: ${said}`)));
  });
  return node;
}
