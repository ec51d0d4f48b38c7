import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LossOptions, OptimizerOptions } from '@agentjet/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGrpo, createOnnxBackbone, createTokenRecording } from '@agentjet/trainer';
import {
  tinyTaskGroups,
  withoutSeconds,
  writeRandomModelFolder,
  plainLoss,
  tinyConfig,
  adamOptions,
} from '@agentjet/trainer/testing';
import {
  createRunFolder,
  openRunFolder,
  readAnnotations,
  type RunFolder,
  type UpdateAnnotation,
} from '@agentjet/run-folder';
import { train, type TrainOptions } from './train.js';

const configJson = tinyConfig({
  vocab_size: 5,
  hidden_size: 16,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  intermediate_size: 24,
});
const optimizer: OptimizerOptions = adamOptions(0.03, {
  beta2: 0.99,
  maxGradNorm: 1,
  schedule: 'linear',
  warmupSteps: 2,
  totalSteps: 8,
});
const loss: LossOptions = { ...plainLoss, klCoef: 0.01 };
const maxSteps = 8;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'train-onnx-'));
  await writeRandomModelFolder(path.join(dir, 'model'), { configJson, seed: 3 });
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function trainFrom(run: RunFolder, changes: Partial<TrainOptions>) {
  const backbone = await createOnnxBackbone({ modelDir: path.join(dir, 'model'), optimizer, threads: 1 });
  const checkpoint = await run.checkpoints.latest();
  if (checkpoint !== undefined) {
    await backbone.load(checkpoint.dir);
    await run.rewind(checkpoint.state);
  }
  try {
    await train({
      backbone,
      run,
      source: ({ at }) => tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, firstGroup: at.groupsDrawn }),
      loss,
      maxSteps,
      groupsPerStep: 4,
      algorithm: createGrpo(),
      packing: { maxPackTokens: 64 },
      ...(checkpoint && { start: checkpoint.state }),
      ...changes,
    });
  } finally {
    await backbone.close();
  }
}

it('learns with the embedded backbone, and an interrupted run logs exactly what an uninterrupted one does', async () => {
  const [whole, parts] = await Promise.all(
    ['whole', 'parts'].map((experimentName) => createRunFolder({ experimentDir: dir, experimentName, configYaml: '' })),
  );
  if (whole === undefined || parts === undefined) throw new Error('No run folder.');
  await trainFrom(whole, {});
  const stop = new AbortController();
  await trainFrom(parts, { signal: stop.signal, observer: { onStep: ({ step }) => step === 3 && stop.abort() } });
  expect((await parts.readMetrics()).length).toBe(3);
  const reopened = await openRunFolder(parts.dir);
  await trainFrom(reopened, {});
  expect(withoutSeconds(await reopened.readMetrics())).toEqual(withoutSeconds(await whole.readMetrics()));
  const rewards = (await whole.readMetrics()).map((record) => record['reward_mean'] ?? Number.NaN);
  expect(Math.max(...rewards.slice(-2))).toBeGreaterThan((rewards[0] ?? 1) + 0.2);
  for (const { logprob_gap_max: gap = Infinity } of await whole.readMetrics()) expect(gap).toBeLessThan(1e-4);
});

it('keeps what the embedded backbone computed for tokens, and figures of steps agree with it', async () => {
  const run = await createRunFolder({ experimentDir: dir, experimentName: 'annotated', configYaml: '' });
  const recordTokens = createTokenRecording('all', 'onnx', (message) => expect.fail(message));
  await trainFrom(run, { maxSteps: 2, numEpochs: 2, recordTokens });
  for (const metrics of await run.readMetrics()) {
    const lines = await readAnnotations(run.dir, metrics.step);
    const updates = lines.filter((line): line is UpdateAnnotation => 'mode' in line);
    expect(updates.map(({ update }) => update)).toEqual([0, 1]);
    expect(updates.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(metrics['trained_tokens']);
    expect(Math.max(...updates.map(({ gap_max: gap }) => gap))).toBeCloseTo(metrics['logprob_gap_max'] ?? NaN, 4);
    const episodes = new Map((await run.episodes.readStep(metrics.step)).map((each) => [each.episode_id, each]));
    for (const line of lines) {
      if ('mode' in line) continue;
      const sample = episodes.get(line.episode_id)?.samples[line.sample];
      expect(line.positions.map((at) => sample?.loss_mask[at])).toEqual(line.positions.map(() => 1));
      const gaps = line.positions.map((at, index) => (line.logprobs[index] ?? NaN) - (sample?.logprobs[at] ?? NaN));
      line.ratios.forEach((ratio, index) => expect(ratio).toBeCloseTo(Math.exp(gaps[index] ?? NaN), 3));
    }
  }
});
