import type { Backbone, LossOptions, TrainBatch } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createGrpo } from '../algorithms/grpo/grpo.js';
import { createTinyTaskBackbone, tinyTaskGroups } from '../testing/tiny-task.js';
import type { TrainingGroup } from './training-group.js';
import { prepareBatch, type BatchSettings } from './prepare-batch.js';
import { plainLoss } from '../testing/plain-loss.js';

const loss: LossOptions = { ...plainLoss, temperature: 0.5 };
const truncated = { level: 'token', mode: 'truncate', lower: 0, upper: 2 } as const;

/**
 * This backbone takes its loss ratio against the weights at the start of the batch, and records its calls and their
 * inputs.
 */
function createAnchored(backbone: Backbone) {
  const asked: { readonly policyVersion: number; readonly temperature: number; readonly terms: number[] }[] = [];
  const batches: TrainBatch[] = [];
  const anchored: Backbone = {
    engine: backbone.engine,
    capabilities: { ...backbone.capabilities, trainsTruncation: true, truncatesImportance: true },
    modelDir: backbone.modelDir,
    get policyVersion() {
      return backbone.policyVersion;
    },
    trainStep: (batch) => {
      batches.push(batch);
      return backbone.trainStep(batch);
    },
    logprobs: (rows) => backbone.logprobs(rows),
    termLogprobs: (packs, temperature) => {
      asked.push({
        policyVersion: backbone.policyVersion,
        temperature,
        terms: packs.map(({ terms }) => terms.pair.length),
      });
      return Promise.resolve(packs.map(({ terms }, pack) => terms.logprobs.map((logprob) => logprob - pack - 1)));
    },
    save: (dir) => backbone.save(dir),
    load: (dir) => backbone.load(dir),
    close: () => backbone.close(),
  };
  return { anchored, asked, batches };
}

const settings: BatchSettings = {
  whitenAdvantages: false,
  loss,
  packing: { maxPackTokens: 64 },
  lengthLimit: { maxSampleTokens: Infinity, policy: 'error' },
  numMiniBatches: 1,
  numEpochs: 1,
};

type Changes = Partial<BatchSettings> & { readonly isStale?: boolean };

async function update(backbone: Backbone, { isStale = false, ...changes }: Changes): Promise<void> {
  const groups: TrainingGroup[] = [];
  for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 2 }))
    groups.push(group);
  const batch = prepareBatch(groups, { ...settings, ...changes }, { backbone, algorithm: createGrpo() });
  for (const index of batch.optimizerSteps.keys())
    expect(await batch.optimize(index, { isOnPolicy: !isStale })).toMatchObject({ isApplied: true });
}

describe('a loss that takes its ratio against the weights a batch began with', () => {
  it('is given their logprobs, asked for once, in every one of several steps', async () => {
    const { anchored, asked, batches } = createAnchored(createTinyTaskBackbone(1));
    await update(anchored, { loss: { ...loss, correction: truncated }, numMiniBatches: 2, numEpochs: 2 });
    expect(asked).toEqual([{ policyVersion: 0, temperature: 0.5, terms: [24, 24] }]);
    const distances = batches.map(({ packs }) =>
      packs.map(({ terms }) => [
        ...new Set(terms.logprobs.map((logprob, at) => Math.round(logprob - (terms.proximal?.[at] ?? NaN)))),
      ]),
    );
    expect(distances).toEqual([[[1]], [[2]], [[1]], [[2]]]);
  });

  it('is asked for none if it has no correction', async () => {
    const { anchored, asked } = createAnchored(createTinyTaskBackbone(1));
    await update(anchored, { numEpochs: 2 });
    expect(asked).toEqual([]);
  });

  it('is given them with gspo if they sampled the batch, because its clip range is narrower than their rounding', async () => {
    const { anchored, asked, batches } = createAnchored(createTinyTaskBackbone(1));
    const rounding = Object.assign(anchored, { capabilities: { ...anchored.capabilities, repeatsSeed: false } });
    const gspo = { ...loss, objective: 'gspo', clipLow: 3e-4, clipHigh: 4e-4 } as const;
    await update(rounding, { loss: gspo });
    await update(rounding, { loss: gspo, numEpochs: 2 });
    expect(asked.map(({ policyVersion }) => policyVersion)).toEqual([0, 1]);
    expect(batches.map(({ packs }) => packs.every(({ terms }) => terms.proximal !== undefined))).toEqual([
      true,
      true,
      true,
    ]);
    await update(rounding, { loss: gspo, isStale: true });
    expect(asked).toHaveLength(2);
  });

  it('needs none for the only step: it starts from the weights themselves', async () => {
    const { anchored, asked, batches } = createAnchored(createTinyTaskBackbone(1));
    await update(anchored, { loss: { ...loss, correction: truncated } });
    expect([asked, batches.map(({ packs }) => packs.map(({ terms }) => terms.proximal))]).toEqual([[], [[undefined]]]);
  });
});

describe('a batch that was sampled with top-p or top-k', () => {
  const truncation = { topP: 0.5, topK: 0 };

  it('is asked for what was kept before the first of several steps, once, and every step gets that', async () => {
    const { anchored, batches } = createAnchored(createTinyTaskBackbone(1));
    const asked: number[] = [];
    const keptTokens: NonNullable<Backbone['keptTokens']> = async (packs, sampling) => {
      expect(sampling).toEqual({ ...truncation, temperature: loss.temperature });
      asked.push(anchored.policyVersion);
      return packs.map(({ terms }, at) => ({
        set: new Int32Array(terms.pair.length).fill(-1),
        starts: Int32Array.of(0),
        ids: new Int32Array(at),
      }));
    };
    const backbone = Object.assign(anchored, { keptTokens });
    await update(backbone, { loss: { ...loss, truncation }, numMiniBatches: 2, numEpochs: 2 });
    expect(asked).toEqual([0]);
    expect(batches.map(({ packs }) => packs.map(({ terms }) => terms.kept?.ids.length))).toEqual([[0], [1], [0], [1]]);
  });

  it('is refused by a backbone that cannot find what was kept', async () => {
    const { anchored } = createAnchored(createTinyTaskBackbone(1));
    await expect(update(anchored, { loss: { ...loss, truncation }, numEpochs: 2 })).rejects.toThrow(
      'This backbone cannot train tokens that were sampled with top_p or top_k.',
    );
  });
});

describe('a correction that the backbone does not compute itself', () => {
  const correction = { level: 'token', mode: 'mask', lower: 0.5, upper: 5 } as const;

  it('gets the logprobs of the weights that a batch began with, from the first of several steps on', async () => {
    const { anchored } = createAnchored(createTinyTaskBackbone(1));
    const asked: number[] = [];
    const seen: (number | undefined)[] = [];
    const backbone: Backbone = {
      ...anchored,
      get policyVersion() {
        return anchored.policyVersion;
      },
      termLogprobs: async (packs) => {
        asked.push(anchored.policyVersion);
        return packs.map(({ terms }) => terms.logprobs.map((logprob) => logprob - 1));
      },
      trainStep: (batch) => {
        const [pack] = batch.packs;
        seen.push((pack?.terms.logprobs[0] ?? 0) - (pack?.terms.proximal?.[0] ?? Number.NaN));
        return anchored.trainStep(batch);
      },
    };
    await update(backbone, { loss: { ...loss, correction }, numEpochs: 2 });
    expect(asked).toEqual([0]);
    expect(seen).toEqual([expect.closeTo(1, 5), expect.closeTo(1, 5)]);
  });

  it('is refused by a backbone that cannot give them', async () => {
    const { anchored } = createAnchored(createTinyTaskBackbone(1));
    const { termLogprobs: _none, ...backbone } = anchored;
    const changes = { loss: { ...loss, correction }, numEpochs: 2 };
    await expect(update({ ...backbone, policyVersion: 0 }, changes)).rejects.toThrow('does not score packs');
  });
});

it('leaves out episodes whose answers were cut, and keeps their rewards in the baseline', async () => {
  const backbone = createTinyTaskBackbone(1);
  const groups: TrainingGroup[] = [];
  for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 1 }))
    groups.push(group);
  const cut = groups.map((group) => ({
    ...group,
    episodes: group.episodes.map((episode, at) => ({ ...episode, reward: at, ...(at === 3 && { isCut: true }) })),
  }));
  const advantagesOf = async (masksCutAnswers: boolean) => {
    const batch = prepareBatch(cut, { ...settings, masksCutAnswers }, { backbone, algorithm: createGrpo() });
    const records: unknown[] = [];
    const metrics = await batch.record(
      { recordStep: async (...all) => void records.push(all[1]) },
      {
        step: 1,
        secondsSampling: 0,
      },
    );
    return { leftOut: batch.leftOut, masked: metrics['masked_episodes'], records };
  };
  const [all, masked] = [await advantagesOf(false), await advantagesOf(true)];
  expect(all).toMatchObject({ leftOut: [], masked: undefined });
  expect(masked).toMatchObject({
    leftOut: [{ episodeId: cut[0]?.episodes[3]?.episodeId, reason: 'overlong' }],
    masked: 1,
  });
  expect(masked.records).toEqual(all.records); // no advantage changes, not even that of the cut episode
});

it('makes the lines of its episodes while the backbone trains', async () => {
  const backbone = createTinyTaskBackbone(1);
  let tellRead = (): void => undefined;
  const read = new Promise<void>((resolve) => (tellRead = resolve));
  const groups: TrainingGroup[] = [];
  for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 2 })) {
    const report = {
      episodes: 4,
      failedEpisodes: 0,
      successes: 0,
      rewardSum: 0,
      generatedTokens: 0,
      get records() {
        tellRead();
        return [];
      },
    };
    groups.push({ ...group, report });
  }
  const { anchored } = createAnchored(backbone);
  const slow: Backbone = {
    ...anchored,
    policyVersion: 0,
    trainStep: async (batch) => {
      await read; // without these lines, the step never ends
      return backbone.trainStep(batch);
    },
  };
  const batch = prepareBatch(groups, settings, { backbone: slow, algorithm: createGrpo() });
  expect(await batch.optimize(0)).toMatchObject({ isApplied: true });
});
