import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { OptimizerOptions, Sample } from '@agentjet/core';
import { createRunFolder, type RunFolder } from '@agentjet/run-folder';
import { createGrpo, type TrainingGroup } from '@agentjet/trainer';
import { createTinyBackbone, adamOptions } from '@agentjet/trainer/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobEvent } from '@agentjet/records';
import type { SourceStart } from '@agentjet/run';
import { createConfig } from '@agentjet/inputs/testing';
import { watchEngine } from '@agentjet/models';
import { runSession } from './run-session.js';
import { toOptimizerOptions } from './training/train-settings.js';
import type { TrainingRun } from './training-run.js';
import type { GroupSource } from './schedule/schedule-source.js';

let dir: string;
let folder: RunFolder;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'run-session-'));
  folder = await createRunFolder({ experimentDir: dir, experimentName: 'e', configYaml: 'ajet: {}\n' });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const optimizer: OptimizerOptions = adamOptions(0.05, { beta2: 0.99, maxGradNorm: 1 });

function sampleOf(episodeId: string, last: number, version: number): Sample {
  return {
    episodeId,
    agentName: 'a',
    targetTag: 'a',
    ids: Int32Array.of(0, 1, last),
    lossMask: Uint8Array.of(0, 1, 1),
    logprobs: Float32Array.of(0, -1.6, -1.6),
    policyVersions: Int32Array.of(-1, version, version),
    advantages: new Float32Array(3),
  };
}

/** Creates a group of two episodes, one better than the other, sampled from the weights of this version. */
function groupOf(groupId: string, version: number): TrainingGroup {
  const episodes = [0, 1].map((reward) => {
    const episodeId = `${groupId}-r${reward}`;
    return { episodeId, reward, samples: [sampleOf(episodeId, 2 + reward, version)] };
  });
  return { groupId, episodes };
}

/** Creates a pool that the test fills. It yields groups in the order in which they were pushed. */
function createPool() {
  const pushed: TrainingGroup[] = [];
  const starts: SourceStart[] = [];
  let wake = (): void => undefined;
  const source: GroupSource = {
    groupsPerStep: 2,
    totalSteps: 2,
    pull: async function* (start) {
      starts.push(start);
      for (;;) {
        const next = pushed.shift();
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else yield next;
      }
    },
  };
  const push = (version: number, ...ids: readonly string[]): void => {
    pushed.push(...ids.map((id) => groupOf(id, version)));
    wake();
  };
  return { source, starts, push };
}

function openRun(emit: TrainingRun['emit'], parts: Partial<TrainingRun> = {}): TrainingRun {
  const backbone = createTinyBackbone({ shape: { vocabSize: 5, width: 6 }, seed: 1, optimizer });
  const config = createConfig({ trainerCommon: { valBeforeTrain: false, saveFreq: 1 } });
  return {
    config,
    optimizer: toOptimizerOptions(config, 2),
    folder,
    backbone,
    algorithm: createGrpo(),
    watched: watchEngine(backbone),
    checkpoint: undefined,
    emit,
    tally: { completed: 0, failed: 0 },
    checkCollapse: () => undefined,
    signal: undefined,
    startedAt: performance.now(),
    ...parts,
  };
}

describe('runSession', () => {
  it('trains on the groups of its source, as they come', async () => {
    const pool = createPool();
    const events: string[] = [];
    const emit = (event: JobEvent): void => {
      events.push(event.type);
      if (event.type === 'step_finished' && event.step === 1) setTimeout(() => pool.push(1, 'c', 'd'), 5);
    };
    const session = runSession({ run: openRun(emit), source: pool.source });
    pool.push(0, 'a');
    pool.push(0, 'b');
    expect(await session).toMatchObject({
      policyVersion: 2,
      successBefore: null,
      successAfter: null,
      secondsEvaluating: 0,
    });
    expect((await folder.readMetrics()).map(({ step }) => step)).toEqual([1, 2]);
    const steps = await Promise.all([1, 2].map((step) => folder.episodes.readStep(step)));
    expect(steps.map((records) => [...new Set(records.map((record) => record['group_id']))])).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    expect(events.filter((type) => type !== 'phase_started' && type !== 'phase_finished')).toEqual([
      'run_started',
      'step_finished',
      'checkpoint_saved',
      'step_finished',
      'checkpoint_saved',
      'run_finished',
    ]);
  });

  it('gives the source of a resumed run the state of the checkpoint', async () => {
    const pool = createPool();
    const state = { step: 1, policyVersion: 1, groupsDrawn: 2 };
    const checkpoint = await folder.save(openRun(() => {}).backbone, state);
    pool.push(1, 'c', 'd');
    const result = await runSession({ run: openRun(() => {}, { checkpoint }), source: pool.source });
    expect(pool.starts).toMatchObject([{ at: state }]);
    expect((await folder.checkpoints.latest())?.state).toEqual({
      step: 2,
      policyVersion: 1,
      groupsDrawn: 4,
      draws: [{ epoch: 0, ranges: [[0, 4]] }],
    });
    expect(result.modelDir).toBe(path.join(folder.checkpoints.dir, 'step-000002'));
  });

  it('evaluates before and after, if something is to be evaluated', async () => {
    const pool = createPool();
    pool.push(0, 'a', 'b');
    pool.push(1, 'c', 'd');
    const asked: number[] = [];
    const evaluations = {
      successAt: async (step: number) => asked.push(step) / 10,
      change: () => undefined,
      seconds: () => 3,
    };
    const config = createConfig({ trainerCommon: { valBeforeTrain: true, testFreq: 1 } });
    const run = openRun(() => {}, { config });
    expect(await runSession({ run, source: pool.source, evaluations })).toMatchObject({
      successBefore: 0.1,
      successAfter: 0.4,
      secondsEvaluating: 3,
    });
    expect(asked).toEqual([0, 1, 2, 2]);
  });

  it('does not end as if it had worked when every episode failed', async () => {
    const pool = createPool();
    pool.push(0, 'a', 'b');
    pool.push(1, 'c', 'd');
    const run = openRun(() => {}, { tally: { completed: 0, failed: 4 } });
    await expect(runSession({ run, source: pool.source })).rejects.toMatchObject({
      code: 'nothing_completed',
      message: expect.stringContaining('None of the 4 episodes completed'),
    });
  });
});
