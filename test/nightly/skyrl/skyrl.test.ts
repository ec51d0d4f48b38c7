import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Backbone } from '@agentjet/core';
import { createTinkerBackbone, packFor } from '@agentjet/trainer';
import { adamOptions, backboneCases, createRandomSamples } from '@agentjet/trainer/testing';
import { createRandom } from '@agentjet/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isInstalled } from '../../../.ci/python-environment.mjs';
import { trainLake } from '../../bench/backbones/train-lake.js';
import { type SkyrlServer, skyrlPython, startSkyrl } from './start-skyrl.js';
import { writeLlamaModel } from './write-llama-model.js';

/** The test is part of `.ci/nightly skyrl`, because JAX compiles for minutes. */
const isAsked = isInstalled(import.meta.dirname) && process.env['AJET_LONG_TESTS'] === '1';
const timeout = 3_600_000;
const run = promisify(execFile);

describe.skipIf(!isAsked)('the tinker backbone over SkyRL on the CPU', { timeout }, () => {
  let dir = '';
  let modelDir = '';
  let server: SkyrlServer;

  const open = (
    learningRate: number,
    checkpoint: 'adapter' | 'merged' = 'adapter',
    profile: 'skyrl' | 'auto' = 'skyrl',
    notice: (message: string) => void = () => undefined,
  ): Promise<Backbone> =>
    createTinkerBackbone({
      baseUrl: server.url,
      apiKey: null,
      baseModel: null,
      profile,
      rank: 32,
      modelDir,
      seed: 1,
      optimizer: adamOptions(learningRate),
      checkpoint,
      notice,
    });

  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'ajet-skyrl-'));
    modelDir = await writeLlamaModel(path.join(dir, 'llama'));
    server = await startSkyrl(modelDir, dir);
  }, timeout);
  afterAll(async () => {
    await server.close();
    await rm(dir, { recursive: true });
  }, timeout);

  test.each(backboneCases(() => open(1e-3)))('$name', (each) => each.run());

  test.each(['adapter', 'merged'] as const)(
    'saves as %s what transformers opens and scores alike',
    async (checkpoint) => {
      const backbone = await open(1e-2, checkpoint);
      const samples = createRandomSamples(createRandom(3), {
        numRows: 4,
        maxLength: 24,
        vocabSize: 600,
        numEpisodes: 4,
      });
      const row = { ids: Int32Array.from({ length: 24 }, (_, at) => 40 + ((at * 37) % 500)) };
      const [before] = await backbone.logprobs([row]);
      await backbone.trainStep({
        packs: packFor(backbone, samples, { maxPackTokens: 64 }).packs,
        loss: { kind: 'sft' },
      });
      const [expected] = await backbone.logprobs([row]);
      const folder = path.join(dir, checkpoint);
      await backbone.save(folder);
      await backbone.close();
      const { stdout } = await run(skyrlPython, [path.join(import.meta.dirname, 'score.py'), folder, `[${row.ids}]`]);
      const found = JSON.parse(stdout) as readonly number[];
      expect(largestGap(expected?.slice(1), found)).toBeLessThan(1e-4);
      expect(largestGap(before?.slice(1), found)).toBeGreaterThan(1e-2);
    },
  );

  test('is found out to average without its profile', async () => {
    const notices: string[] = [];
    const backbone = await open(1e-3, 'adapter', 'auto', (message) => notices.push(message));
    await backbone.close();
    expect(notices.join(' ')).toContain('importance sampling, because the server averages; the gradient is checked');
  });

  test('learns the frozen lake in ten steps', async () => {
    const { successBefore, successAfter } = await trainLake({
      steps: 10,
      experimentDir: path.join(dir, 'lake'),
      backbone: await open(5e-3),
      trainerCommon: { valBeforeTrain: true },
      rollout: { maxResponseLengthInOneTurn: 8, maxEnvWorker: 32, episodeTimeout: 3600 },
    });
    console.log(`The frozen lake over SkyRL: ${successBefore} before, ${successAfter} after ten steps.`);
    expect(successAfter).toBeGreaterThan((successBefore ?? 1) + 0.1);
  });
});

function largestGap(some: ArrayLike<number> | undefined, others: readonly number[]): number {
  return Math.max(...others.map((value, at) => Math.abs(value - (some?.[at] ?? Number.NaN))));
}
