import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, type Backbone, type RewardedEpisode } from '@agentjet/core';
import { RecoveryBudget } from './recovery-budget.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGrpo, type TrainingGroup } from '@agentjet/trainer';
import {
  createTinyTaskBackbone,
  tinyTaskGroups,
  tinyTaskOptimizer,
  withoutSeconds,
  plainLoss,
  stepMetricNames,
} from '@agentjet/trainer/testing';
import { type MetricsRecord, createRunFolder, openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { batched } from './batched.js';
import { train, type TrainOptions } from './train.js';

let dir: string;
let run: RunFolder;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'train-'));
  run = await newRun('a');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

function newRun(experimentName: string): Promise<RunFolder> {
  return createRunFolder({ experimentDir: dir, experimentName, configYaml: 'ajet: {}\n' });
}

function optionsFor(backbone: Backbone, changes: Partial<TrainOptions> = {}): TrainOptions {
  return {
    backbone,
    source: ({ at }) => tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, firstGroup: at.groupsDrawn }),
    run,
    algorithm: createGrpo(),
    loss: plainLoss,
    packing: { maxPackTokens: 64 },
    groupsPerStep: 4,
    ...changes,
  };
}

async function* listSource(groups: readonly TrainingGroup[]): AsyncGenerator<TrainingGroup> {
  yield* groups;
}

describe('train', () => {
  it('learns, and writes a run folder that records the training', async () => {
    const backbone = createTinyTaskBackbone(1);
    const result = await train(optionsFor(backbone, { maxSteps: 25, saveEvery: 10 }));
    const metrics = await run.readMetrics();
    expect(result).toMatchObject({ status: 'completed', state: { step: 25, groupsDrawn: 100 } });
    expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
    expect(metrics[0]?.['reward_mean']).toBeLessThan(0.4);
    expect(metrics.at(-1)?.['reward_mean']).toBeGreaterThan(0.7);
    expect((await readdir(run.dir)).sort()).toEqual([
      'checkpoints',
      'code.json',
      'config.yaml',
      'episodes',
      'index',
      'log.jsonl',
      'metrics.jsonl',
      'reward.svg',
      'rules.json',
      'sums.jsonl',
      'system.jsonl',
      'writer.json',
    ]);
    expect((await readdir(path.join(run.dir, 'checkpoints'))).sort()).toEqual([
      'latest',
      'step-000010',
      'step-000020',
      'step-000025',
    ]);
    expect(await readFile(path.join(run.dir, 'checkpoints', 'latest'), 'utf8')).toBe('step-000025\n');
  });

  it('writes the fields of metrics.jsonl that scripts read', async () => {
    await train(optionsFor(createTinyTaskBackbone(1), { maxSteps: 1 }));
    const [metrics] = await run.readMetrics();
    for (const field of stepMetricNames) expect(metrics?.[field], field).toEqual(expect.any(Number));
    expect(metrics).toMatchObject({
      step: 1,
      policy_version: 1,
      episodes: 16,
      failed_episodes: 0,
      generated_tokens: 96,
      groups: 4,
    });
    expect(metrics?.['logprob_gap_max']).toBeLessThan(1e-6);
    expect(metrics?.['trained_tokens']).toBe(6 * 4 * (4 - (metrics?.['groups_skipped'] ?? 0)));
    expect(metrics?.['row_tokens']).toBeGreaterThan(metrics?.['tree_tokens'] ?? 0);
    expect(metrics?.['row_tokens_over_tree_tokens']).toBeCloseTo(
      Number(metrics?.['row_tokens']) / Number(metrics?.['tree_tokens']),
      12,
    );
  });

  it('logs the same steps when it is stopped and resumed as when it is not', async () => {
    await train(optionsFor(createTinyTaskBackbone(1), { maxSteps: 9 }));
    const whole = withoutSeconds(await run.readMetrics());

    run = await newRun('b');
    const stop = new AbortController();
    const first = createTinyTaskBackbone(1);
    const stopped = await train(
      optionsFor(first, {
        maxSteps: 9,
        signal: stop.signal,
        observer: { onStep: ({ step }) => step === 4 && stop.abort() },
      }),
    );
    expect(stopped).toMatchObject({ status: 'stopped', state: { step: 4, groupsDrawn: 16 } });

    const reopened = await openRunFolder(run.dir);
    const checkpoint = await reopened.checkpoints.latest();
    const second = createTinyTaskBackbone(1);
    await second.load(checkpoint?.dir ?? '');
    if (checkpoint === undefined) throw new Error('No checkpoint was saved.');
    await reopened.rewind(checkpoint.state);
    await train(optionsFor(second, { run: reopened, start: checkpoint.state, maxSteps: 9 }));
    expect(withoutSeconds(await reopened.readMetrics())).toEqual(whole);
    expect(await reopened.episodes.steps()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('finishes the step that the signal interrupts, and does not train a batch that the signal cut short', async () => {
    const stop = new AbortController();
    const backbone = createTinyTaskBackbone(1);
    async function* source(): AsyncGenerator<TrainingGroup> {
      let count = 0;
      for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4 })) {
        if (++count === 2) stop.abort();
        if (count === 7) return;
        yield group;
      }
    }
    expect(await train(optionsFor(backbone, { source, signal: stop.signal }))).toMatchObject({
      status: 'stopped',
      state: { step: 1, groupsDrawn: 4 },
      checkpoint: { state: { step: 1 } },
    });

    const cut = new AbortController();
    async function* shortSource(): AsyncGenerator<TrainingGroup> {
      yield* tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 3 });
      cut.abort();
    }
    run = await newRun('b');
    expect(await train(optionsFor(backbone, { source: shortSource, signal: cut.signal }))).toMatchObject({
      status: 'stopped',
      state: { step: 0, groupsDrawn: 0 },
      checkpoint: undefined,
    });
    expect(await run.readMetrics()).toEqual([]);
  });

  it('makes no step when it is stopped before the first', async () => {
    const backbone = createTinyTaskBackbone(1);
    expect(await train(optionsFor(backbone, { signal: AbortSignal.abort() }))).toMatchObject({
      status: 'stopped',
      state: { step: 0 },
      checkpoint: undefined,
    });
    expect(backbone.policyVersion).toBe(0);
  });

  it('trains a last batch that is shorter', async () => {
    const backbone = createTinyTaskBackbone(1);
    const source = tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 6 });
    expect(await train(optionsFor(backbone, { source: () => source }))).toMatchObject({
      status: 'completed',
      state: { step: 2, groupsDrawn: 6 },
    });
  });

  it('gives each step the rate of its place among all steps, and reports that of a step that trained nothing', async () => {
    const backbone = createTinyTaskBackbone(1);
    let numGroups = 0;
    const source = async function* (): AsyncGenerator<TrainingGroup> {
      for await (const group of tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 4 })) {
        const flat = group.episodes.map((episode) => ({ ...episode, reward: 1 }));
        yield numGroups++ % 2 === 1 ? { ...group, episodes: flat } : group;
      }
    };
    const optimizer = { ...tinyTaskOptimizer, learningRate: 1, schedule: 'linear', totalSteps: 4 } as const;
    await train(optionsFor(backbone, { source, groupsPerStep: 1, optimizer }));
    const metrics = await run.readMetrics();
    expect(metrics.map((record) => record['learning_rate'])).toEqual([1, 0.75, 0.5, 0.25]);
    expect(metrics.map((record) => record['policy_version'])).toEqual([1, 1, 2, 2]);
  });

  it('skips and counts groups without a gradient, and a batch of nothing else moves no weight', async () => {
    const backbone = createTinyTaskBackbone(1);
    const [first, second] = await collect(tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 2 }));
    if (first === undefined || second === undefined) throw new Error('The source is empty.');
    const equal = { ...first, episodes: first.episodes.map((episode) => ({ ...episode, reward: 0.1 })) };
    const dropped: TrainingGroup = {
      groupId: 'dropped',
      episodes: [],
      report: {
        episodes: 4,
        failedEpisodes: 2,
        successes: 0,
        rewardSum: 1.2,
        generatedTokens: 5,
        counts: { forks: 3, 'forks/a/tools': 1 },
        records: [{ episode_id: 'x', status: 'failed', error: 'boom' }],
      },
    };
    const reported: TrainingGroup = {
      ...equal,
      report: {
        episodes: 4,
        failedEpisodes: 0,
        successes: 0,
        rewardSum: 0.4,
        generatedTokens: 24,
        counts: { forks: 2, splices: 0 },
      },
    };
    await train(optionsFor(backbone, { source: () => listSource([reported, dropped]), groupsPerStep: 2 }));
    expect((await run.readMetrics())[0]).toMatchObject({
      step: 1,
      policy_version: 0,
      groups_skipped: 2,
      trained_tokens: 0,
      loss: 0,
      grad_norm: 0,
      episodes: 8,
      failed_episodes: 2,
      reward_mean: 0.2,
      generated_tokens: 29,
      forks: 5,
      'forks/a/tools': 1,
      splices: 0,
    });
    expect(await run.episodes.find('x')).toMatchObject({ status: 'failed', error: 'boom', group_id: 'dropped' });

    run = await newRun('b');
    await train(optionsFor(backbone, { source: () => listSource([equal, second]), groupsPerStep: 2 }));
    expect((await run.readMetrics())[0]).toMatchObject({ policy_version: 1, groups_skipped: 1, trained_tokens: 24 });
  });

  it('gives the same weights for any order of groups and episodes', async () => {
    const groups = await collect(
      tinyTaskGroups(createTinyTaskBackbone(1).engine, { seed: 7, numRepeat: 4, numGroups: 4 }),
    );
    const shuffled = groups.toReversed().map((group) => ({ ...group, episodes: group.episodes.toReversed() }));
    const row = [{ ids: Int32Array.of(0, 3, 3, 4, 1) }];
    const [one, other] = [createTinyTaskBackbone(1), createTinyTaskBackbone(1)];
    await train(optionsFor(one, { source: () => listSource(groups) }));
    await train(optionsFor(other, { source: () => listSource(shuffled), run: await newRun('b') }));
    expect(await other.logprobs(row)).toEqual(await one.logprobs(row));
  });

  it('keeps the reward of an over-long episode in the baseline of its siblings', async () => {
    const [group] = await collect(
      tinyTaskGroups(createTinyTaskBackbone(1).engine, { seed: 7, numRepeat: 4, numGroups: 1 }),
    );
    if (group === undefined) throw new Error('The source is empty.');
    const lengthen = (episode: RewardedEpisode, index: number): RewardedEpisode =>
      index > 0
        ? episode
        : {
            ...episode,
            samples: episode.samples.map((sample) => ({
              ...sample,
              ids: Int32Array.of(...sample.ids, 1),
              lossMask: Uint8Array.of(...sample.lossMask, 0),
              logprobs: Float32Array.of(...sample.logprobs, 0),
              advantages: new Float32Array(sample.ids.length + 1),
              policyVersions: Int32Array.of(...sample.policyVersions, -1),
            })),
          };
    const source = listSource([{ ...group, episodes: group.episodes.map(lengthen) }]);
    await train(
      optionsFor(createTinyTaskBackbone(1), {
        source: () => source,
        groupsPerStep: 1,
        lengthLimit: { maxSampleTokens: 9, policy: 'drop_episode' },
      }),
    );
    expect((await run.readMetrics())[0]).toMatchObject({
      overlong_samples: 1,
      dropped_episodes: 1,
      lost_tokens: 6,
      trained_tokens: 18,
    });
    const expected = createGrpo().credit(group).at(1)?.advantages;
    const record = await run.episodes.find(group.episodes[1]?.episodeId ?? '');
    expect(Float32Array.from(record?.samples[0]?.advantages ?? [])).toEqual(expected);
  });

  it('divides a batch into mini-batches and passes over it again', async () => {
    const backbone = createTinyTaskBackbone(1);
    await train(optionsFor(backbone, { maxSteps: 1, numMiniBatches: 2, numEpochs: 2 }));
    expect((await run.readMetrics())[0]).toMatchObject({ step: 1, policy_version: 4 });
  });

  it('evaluates when it is due, and calls the observer in order', async () => {
    const events: string[] = [];
    const observer = {
      onUpdate: (step: number) => events.push(`update ${step}`),
      onStep: ({ step }: MetricsRecord) => events.push(`step ${step}`),
      onCheckpoint: ({ state }: { state: { step: number } }) => events.push(`saved ${state.step}`),
    };
    const evaluate = async (step: number) => void events.push(`evaluate ${step}`);
    await train(
      optionsFor(createTinyTaskBackbone(1), {
        maxSteps: 2,
        groupsPerStep: 1,
        evaluateEvery: 2,
        saveEvery: 2,
        evaluate,
        observer,
      }),
    );
    expect(events).toEqual(['update 1', 'step 1', 'update 2', 'step 2', 'evaluate 2', 'saved 2']);
  });

  it('saves, too, when making the steps again would take too long', async () => {
    const spent: number[] = [];
    const saved: number[] = [];
    class EverySecond extends RecoveryBudget {
      override noteStep = (seconds: number) => void spent.push(seconds);
      override noteSaved = () => void saved.push(spent.length);
      override get isDue() {
        return spent.length % 2 === 0;
      }
    }
    const recoveryBudget = new EverySecond(Infinity);
    await train(optionsFor(createTinyTaskBackbone(1), { maxSteps: 5, saveEvery: 3, recoveryBudget }));
    expect(saved).toEqual([2, 3, 4, 5]);
    expect(spent.every((seconds) => seconds > 0)).toBe(true);
  });

  it('refuses two episodes with one id', async () => {
    const [group] = await collect(
      tinyTaskGroups(createTinyTaskBackbone(1).engine, { seed: 7, numRepeat: 2, numGroups: 1 }),
    );
    if (group === undefined) throw new Error('The source is empty.');
    const twice = listSource([group, { ...group, groupId: 'other' }]);
    expect(await train(optionsFor(createTinyTaskBackbone(1), { source: () => twice }))).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/Two episodes of one step have the id "task-0000-r0"/) },
    });
  });

  it('saves the steps that were made before the source failed', async () => {
    const backbone = createTinyTaskBackbone(1);
    async function* source(): AsyncGenerator<TrainingGroup> {
      yield* tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4, numGroups: 9 });
      throw new Error('the task server is gone');
    }
    expect(await train(optionsFor(backbone, { source }))).toMatchObject({
      status: 'failed',
      error: { message: 'the task server is gone' },
      state: { step: 2, policyVersion: 2, groupsDrawn: 8 },
      checkpoint: { state: { step: 2 } },
    });
    expect(await run.checkpoints.latest()).toMatchObject({ state: { step: 2, groupsDrawn: 8 } });
  });

  it('ends the source when a step fails, and keeps the checkpoint before', async () => {
    let isEnded = false;
    const backbone = createTinyTaskBackbone(1);
    async function* source(): AsyncGenerator<TrainingGroup> {
      try {
        yield* tinyTaskGroups(backbone.engine, { seed: 7, numRepeat: 4 });
      } finally {
        isEnded = true;
      }
    }
    const failing: Backbone = {
      engine: backbone.engine,
      capabilities: backbone.capabilities,
      modelDir: backbone.modelDir,
      get policyVersion() {
        return backbone.policyVersion;
      },
      logprobs: (rows) => backbone.logprobs(rows),
      save: (folder) => backbone.save(folder),
      load: (folder) => backbone.load(folder),
      close: () => backbone.close(),
      trainStep: (batch) =>
        backbone.policyVersion === 2
          ? Promise.reject(new BackboneError('failed', 'out of memory'))
          : backbone.trainStep(batch),
    };
    expect(await train(optionsFor(failing, { source, saveEvery: 1 }))).toMatchObject({
      status: 'failed',
      error: { message: 'out of memory' },
      state: { step: 2 },
    });
    expect(isEnded).toBe(true);
    expect(await run.checkpoints.latest()).toMatchObject({ state: { step: 2 } });
  });
});

describe('batched', () => {
  it('pulls no item before its batch is asked for', async () => {
    let pulled = 0;
    async function* source() {
      for (; ; pulled++) yield pulled;
    }
    const batches = batched(source(), 3);
    expect((await batches.next()).value).toEqual([0, 1, 2]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(pulled).toBe(2);
  });
});

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}
