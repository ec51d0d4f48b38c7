import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Backbone, RewardedEpisode } from '@agentjet/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGrpo, type TrainingGroup } from '@agentjet/trainer';
import { createTinyTaskBackbone, tinyTaskGroups, plainLoss } from '@agentjet/trainer/testing';
import { createRunFolder, openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { train, type SourceStart, type TrainOptions } from './train.js';
import { workAhead } from './work-ahead.js';

let dir: string;
let run: RunFolder;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'stale-'));
  run = await createRunFolder({ experimentDir: dir, experimentName: 'a', configYaml: 'ajet: {}\n' });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function optionsFor(backbone: Backbone, changes: Partial<TrainOptions> = {}): TrainOptions {
  return {
    backbone,
    source: (start) => aheadOf(backbone, start, changes.groupsPerStep ?? 2),
    run,
    algorithm: createGrpo(),
    loss: plainLoss,
    packing: { maxPackTokens: 64 },
    groupsPerStep: 2,
    ...changes,
  };
}

/** Yields batches that are sampled as far ahead as the pace allows. */
async function* aheadOf(
  { engine }: Backbone,
  { at, signal, pace }: SourceStart,
  size: number,
  onBegin: (step: number) => void = () => undefined,
): AsyncGenerator<TrainingGroup> {
  const begin = async (step: number): Promise<TrainingGroup[]> => {
    onBegin(step);
    const firstGroup = at.groupsDrawn + (step - 1 - at.step) * size;
    return collect(tinyTaskGroups(engine, { seed: 7, numRepeat: 4, firstGroup, numGroups: size }));
  };
  for await (const batch of workAhead(at.step, pace, signal, begin)) yield* batch;
}

async function collect(source: AsyncIterable<TrainingGroup>): Promise<TrainingGroup[]> {
  const groups: TrainingGroup[] = [];
  for await (const group of source) groups.push(group);
  return groups;
}

function withVersion(episode: RewardedEpisode, version: number): RewardedEpisode {
  const samples = episode.samples.map((sample) => ({
    ...sample,
    policyVersions: sample.policyVersions.map((known) => (known === -1 ? -1 : version)),
  }));
  return { ...episode, samples };
}

async function* listSource(groups: readonly TrainingGroup[]): AsyncGenerator<TrainingGroup> {
  yield* groups;
}

const collectGroups = (numGroups: number): Promise<TrainingGroup[]> =>
  collect(tinyTaskGroups(createTinyTaskBackbone(1).engine, { seed: 7, numRepeat: 4, numGroups }));

describe('train with max staleness', () => {
  it('0 keeps every token on-policy', async () => {
    await train(optionsFor(createTinyTaskBackbone(1), { maxSteps: 4 }));
    for (const metrics of await run.readMetrics())
      expect(metrics).toMatchObject({ staleness_max: 0, staleness_mean: 0, stale_episodes: 0 });
  });

  it.each([1, 2])(
    '%i lets sampling run ahead by that many versions and no more, and still learns',
    async (maxStaleness) => {
      const backbone = createTinyTaskBackbone(1);
      await train(optionsFor(backbone, { maxSteps: 30, groupsPerStep: 4, maxStaleness }));
      const metrics = await run.readMetrics();
      const staleness = metrics.map((record) => record['staleness_max'] ?? Number.NaN);
      expect(staleness[0]).toBe(0);
      expect(staleness[1]).toBeGreaterThan(0);
      expect(Math.max(...staleness)).toBeLessThanOrEqual(maxStaleness);
      expect(metrics.every((record) => record['stale_episodes'] === 0)).toBe(true);
      expect(metrics.at(-1)?.['reward_mean']).toBeGreaterThan(0.6);
      expect(metrics[0]?.['logprob_gap_max']).toBeLessThan(1e-6);
      expect(metrics[1]?.['logprob_gap_max']).toBeGreaterThan(1e-3);
    },
  );

  it('counts the optimizer steps of mini-batches and passes: a batch ahead is four versions ahead', async () => {
    await train(
      optionsFor(createTinyTaskBackbone(1), { maxSteps: 3, numMiniBatches: 2, numEpochs: 2, maxStaleness: 3 }),
    );
    expect((await run.readMetrics()).map((record) => record['staleness_max'])).toEqual([0, 0, 0]);
    run = await createRunFolder({ experimentDir: dir, experimentName: 'b', configYaml: 'ajet: {}\n' });
    await train(
      optionsFor(createTinyTaskBackbone(1), { maxSteps: 3, numMiniBatches: 2, numEpochs: 2, maxStaleness: 4 }),
    );
    const [none, ...others] = (await run.readMetrics()).map((record) => record['staleness_max'] ?? Number.NaN);
    expect(none).toBe(0);
    expect(others.every((most) => most >= 1 && most <= 4)).toBe(true);
  });

  it('leaves out and counts episodes that are older, and keeps their rewards in the baseline of their siblings', async () => {
    const groups = await collectGroups(2);
    const aged = groups.map((group) => ({
      ...group,
      episodes: group.episodes.map((episode, index) => withVersion(episode, index === 0 ? 2 : 4)),
    }));
    const backbone = createTinyTaskBackbone(1);
    const newer: Backbone = { ...forward(backbone), policyVersion: 5 };
    await train(optionsFor(newer, { source: () => listSource(aged), maxStaleness: 1 }));
    expect((await run.readMetrics())[0]).toMatchObject({
      stale_episodes: 2,
      staleness_max: 1,
      staleness_mean: 1,
      trained_tokens: 2 * 3 * 6,
      episodes: 8,
    });
    const expected = createGrpo()
      .credit(groups[0] as TrainingGroup)
      .at(1)?.advantages;
    const record = await run.episodes.find(groups[0]?.episodes[1]?.episodeId ?? '');
    expect(Float32Array.from(record?.samples[0]?.advantages ?? [])).toEqual(expected);
  });

  it('makes no optimizer step where every episode is too old', async () => {
    const groups = (await collectGroups(2)).map((group) => ({
      ...group,
      episodes: group.episodes.map((episode) => withVersion(episode, 0)),
    }));
    const backbone = createTinyTaskBackbone(1);
    await train(
      optionsFor({ ...forward(backbone), policyVersion: 2 }, { source: () => listSource(groups), maxStaleness: 1 }),
    );
    expect((await run.readMetrics())[0]).toMatchObject({ stale_episodes: 8, trained_tokens: 0, loss: 0 });
    expect(backbone.policyVersion).toBe(0);
  });

  it('draws again, after a stop, what had been sampled ahead and not trained', async () => {
    const stop = new AbortController();
    const backbone = createTinyTaskBackbone(1);
    let start: SourceStart | undefined;
    const first = await train(
      optionsFor(backbone, {
        maxStaleness: 2,
        maxSteps: 9,
        signal: stop.signal,
        source: (given) => {
          start = given;
          return aheadOf(backbone, given, 2);
        },
        observer: { onStep: ({ step }) => step === 3 && stop.abort() },
      }),
    );
    expect(first).toMatchObject({ status: 'stopped', state: { step: 3, groupsDrawn: 6 } });
    expect(start?.signal.aborted).toBe(true);

    const reopened = await openRunFolder(run.dir);
    const checkpoint = await reopened.checkpoints.latest();
    if (checkpoint === undefined) throw new Error('No checkpoint was saved.');
    const second = createTinyTaskBackbone(1);
    await second.load(checkpoint.dir);
    await reopened.rewind(checkpoint.state);
    const begun: number[] = [];
    await train(
      optionsFor(second, {
        run: reopened,
        start: checkpoint.state,
        maxStaleness: 2,
        maxSteps: 6,
        source: (given) => aheadOf(second, given, 2, (step) => begun.push(step)),
      }),
    );
    expect(begun.slice(0, 3)).toEqual([4, 5, 6]);
    expect(await reopened.episodes.find('task-0006-r0')).toMatchObject({ step: 4 });
    const metrics = await reopened.readMetrics();
    expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(metrics[3]?.['staleness_max']).toBe(0);
    expect(Math.max(...metrics.map((record) => record['staleness_max'] ?? Number.NaN))).toBeLessThanOrEqual(2);
  });

  it('saves the steps made before a source failed that was working ahead', async () => {
    const backbone = createTinyTaskBackbone(1);
    async function* source(): AsyncGenerator<TrainingGroup> {
      yield* tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 5 });
      throw new Error('the task server is gone');
    }
    expect(await train(optionsFor(backbone, { source, maxStaleness: 1 }))).toMatchObject({
      status: 'failed',
      error: { message: 'the task server is gone' },
    });
    expect(await run.checkpoints.latest()).toMatchObject({ state: { step: 2, groupsDrawn: 4 } });
  });
});

function forward(backbone: Backbone): Backbone {
  const { engine, modelDir, policyVersion } = backbone;
  return {
    engine,
    capabilities: backbone.capabilities,
    modelDir,
    policyVersion,
    trainStep: (batch, options) => backbone.trainStep(batch, options),
    logprobs: (rows) => backbone.logprobs(rows),
    save: (folder) => backbone.save(folder),
    load: (folder) => backbone.load(folder),
    close: () => backbone.close(),
  };
}
