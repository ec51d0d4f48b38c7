import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone } from '@agentjet/core';
import { createRunFolder, type RunFolder } from '@agentjet/run-folder';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGrpo, prepareBatch, type TrainingGroup } from '@agentjet/trainer';
import { createTinyTaskBackbone, tinyTaskGroups, termLoss, withoutSeconds, plainLoss } from '@agentjet/trainer/testing';
import { train, type TrainOptions } from './train.js';

const settings = {
  whitenAdvantages: false,
  loss: plainLoss,
  packing: { maxPackTokens: 64 },
  lengthLimit: { maxSampleTokens: Infinity, policy: 'error' },
  numMiniBatches: 1,
  numEpochs: 1,
  maxStaleness: 0,
} as const;
let dir: string;
let run: RunFolder;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'hooks-'));
  run = await createRunFolder({ experimentDir: dir, experimentName: 'a', configYaml: 'ajet: {}\n' });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function optionsFor(backbone: Backbone, changes: Partial<TrainOptions> = {}): TrainOptions {
  return {
    backbone,
    source: () => tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4 }),
    run,
    algorithm: createGrpo(),
    loss: plainLoss,
    packing: { maxPackTokens: 64 },
    groupsPerStep: 2,
    maxSteps: 3,
    ...changes,
  };
}

describe('the loop', () => {
  it('says which episodes a step does not train, and why', async () => {
    const backbone = createTinyTaskBackbone(1);
    await metricsWith(backbone, { maxSteps: 1 }); // so that samples of version 0 are old
    const groups: TrainingGroup[] = [];
    for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 2 }))
      groups.push(group);
    const [first, second] = groups;
    if (first === undefined || second === undefined) throw new Error('The source is empty.');
    const equal = { ...first, episodes: first.episodes.map((episode) => ({ ...episode, reward: 0.5 })) };
    const [silent, old, long, ...others] = second.episodes;
    if (silent === undefined || old === undefined || long === undefined) throw new Error('The group is small.');
    const changed = {
      ...second,
      episodes: [
        { ...silent, samples: [] },
        {
          ...old,
          samples: old.samples.map((sample) => ({
            ...sample,
            policyVersions: sample.policyVersions.map((version) => (version === -1 ? -1 : 0)),
          })),
        },
        {
          ...long,
          samples: long.samples.map((sample) => ({
            ...sample,
            ids: Int32Array.of(...sample.ids, 4),
            lossMask: Uint8Array.of(...sample.lossMask, 0),
            logprobs: Float32Array.of(...sample.logprobs, 0),
            policyVersions: Int32Array.of(...sample.policyVersions, -1),
            advantages: Float32Array.of(...sample.advantages, 0),
          })),
        },
        ...others,
      ],
    };
    const { leftOut } = prepareBatch(
      [equal, changed],
      { ...settings, lengthLimit: { maxSampleTokens: long.samples[0]?.ids.length ?? 0, policy: 'drop_episode' } },
      { backbone, algorithm: createGrpo() },
    );
    expect(leftOut).toEqual([
      ...equal.episodes.map(({ episodeId }) => ({ episodeId, reason: 'no_gradient' })),
      { episodeId: silent.episodeId, reason: 'no_samples' },
      { episodeId: old.episodeId, reason: 'stale' },
      { episodeId: long.episodeId, reason: 'overlong' },
    ]);
  });

  it('gives rows to a backbone that takes rows, with the steps of the trees', async () => {
    const trees = await metricsWith(createTinyTaskBackbone(1), {});
    const rows = await metricsWith(createTinyTaskBackbone(1, 'rows'), {});
    expect(comparable(rows)).toEqual(comparable(trees));
    expect(trees[0]).not.toHaveProperty('leaf_tokens_over_tree_tokens');
    expect(rows[0]?.['leaf_tokens_over_tree_tokens']).toBeGreaterThan(1);
  });

  it("trains an algorithm's own slope as the loss that has this slope", async () => {
    const builtIn = await metricsWith(createTinyTaskBackbone(1), { numEpochs: 2 });
    const algorithm: TrainOptions['algorithm'] = {
      ...createGrpo(),
      slope: ({ logprobs, behaviour, advantages }) =>
        logprobs.map((logprob, k) => {
          const term = { advantage: advantages[k] ?? 0, behaviour: behaviour[k] ?? 0, reference: 0 };
          return termLoss(logprob, term, plainLoss).slope;
        }),
    };
    const own = await metricsWith(createTinyTaskBackbone(1), { numEpochs: 2, algorithm });
    expect(comparable(own)).toEqual(comparable(builtIn));
  });

  it('refuses a loss that the backbone cannot train before it asks for a group', async () => {
    const backbone = createTinyTaskBackbone(1);
    const limited = Object.assign(Object.create(backbone) as Backbone, {
      capabilities: { ...backbone.capabilities, losses: ['sft', 'policy'] },
    });
    const source = () => {
      throw new Error('asked');
    };
    await expect(
      train({ ...optionsFor(backbone), backbone: limited, source, loss: { ...plainLoss, klCoef: 0.1 } }),
    ).rejects.toThrow(/needs "kl", but this backbone trains only sft, policy/);
    const algorithm = { ...createGrpo(), slope: () => [] };
    await expect(train({ ...optionsFor(backbone), algorithm, loss: { ...plainLoss, klCoef: 0.1 } })).rejects.toThrow(
      /"grpo" has its own loss, so the "kl" term/,
    );
  });

  it('leaves numbers that a backbone does not report out of the metrics', async () => {
    const backbone = createTinyTaskBackbone(1);
    const silent = new Proxy(backbone, {
      get: (target, name) => {
        if (name === 'trainStep')
          return async (...given: Parameters<Backbone['trainStep']>) => ({
            ...(await target.trainStep(...given)),
            gradNorm: null,
            entropy: null,
          });
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const [metrics] = await metricsWith(silent, { maxSteps: 1 });
    expect(metrics).not.toHaveProperty('grad_norm');
    expect(metrics).not.toHaveProperty('entropy');
    expect(metrics).toHaveProperty('loss');
  });
});

async function metricsWith(backbone: Backbone, changes: Partial<TrainOptions>): Promise<Record<string, number>[]> {
  run = await createRunFolder({ experimentDir: dir, experimentName: 'other', configYaml: 'ajet: {}\n' });
  const outcome = await train(optionsFor(backbone, { run, ...changes }));
  if (outcome.status === 'failed') throw outcome.error;
  return withoutSeconds(await run.readMetrics());
}

const comparable = (metrics: readonly Record<string, number>[]) =>
  metrics.map((record) => ({
    counts: ['reward_mean', 'trained_tokens', 'row_tokens', 'tree_tokens'].map((key) => record[key]),
    close: ['grad_norm', 'entropy', 'logprob_gap_max'].map((key) => record[key]?.toFixed(5)),
  }));
