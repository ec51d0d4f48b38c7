import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { SamplingOptions } from '@agentjet/core';
import { AgentJetJob, type ConfigInput, type JobEvent, type Task, type Tuner } from 'agentjet';
import { describe, expect, it } from 'vitest';
import { FrozenLakeWorkflow } from '../../tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks } from '../../tutorial/frozen-lake/lake-tasks.js';
import { readEpisodes, readMetrics, type Row } from '../e2e/support/read-run.js';

/**
 * A request's own sampling was trained at the run's temperature. With temperature 0 or a fixed seed all repeats of a
 * task were equal, so nothing was learned at all.
 */
/** Returns the walker of tutorial 1 with these sampling options in every call. */
function createWalker(sampling: SamplingOptions): typeof FrozenLakeWorkflow {
  return class extends FrozenLakeWorkflow {
    override execute(task: Task, tuner: Tuner) {
      const selectModel: Tuner['selectModel'] = (options, toNative) =>
        tuner.selectModel(options, (model) =>
          toNative({
            ...model,
            generate: (request, callOptions) =>
              model.generate({ ...request, sampling: { ...request.sampling, ...sampling } }, callOptions),
          }),
        );
      return super.execute(task, { ...tuner, selectModel });
    }
  };
}

const FixedWalker = createWalker({ temperature: 0, seed: 1 });

async function trainWith(workflow: typeof FrozenLakeWorkflow, rollout: ConfigInput['rollout'] = {}) {
  const experimentDir = mkdtempSync(path.join(os.tmpdir(), 'ajet-sampling-'));
  const events: JobEvent[] = [];
  const job = new AgentJetJob({
    model: 'nano',
    experimentDir,
    experimentName: 'lake',
    numRepeat: 5,
    batchSize: 6,
    config: { rollout, trainerCommon: { totalTrainingSteps: 2, valBeforeTrain: false, optim: { lr: 5e-4 } } },
  })
    .setWorkflow(workflow)
    .setData({ training: drawTasks('training', { seed: 5, count: 12 }) });
  const { runDir } = await job.tune({ onEvent: (event) => events.push(event) });
  if (runDir === null) throw new Error('nothing was written');
  const notices = events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
  return { metrics: readMetrics(runDir), episodes: readEpisodes(runDir), notices };
}

/** Removes the counts of the requests themselves. */
function withoutCounts(rows: readonly Row[]): readonly Row[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('ignored'))));
}

describe('an agent that asks for temperature 0 and seed 1 in every call', () => {
  it('learns exactly as one that asks for nothing, and gets one notice that it does not get them', async () => {
    const plain = await trainWith(FrozenLakeWorkflow);
    const fixed = await trainWith(FixedWalker);
    expect(withoutCounts(fixed.metrics)).toEqual(plain.metrics);
    for (const row of fixed.metrics) {
      expect(row['groups_skipped']).toBeLessThan(Number(row['groups']));
      expect(row).toMatchObject({ clip_fraction: 0, logprob_gap_max: 0 });
      expect(row['ignored_parameters/walker/seed']).toBeGreaterThan(30);
    }
    expect(
      fixed.notices.filter((message) => message.includes('"walker" asks for its own temperature, seed')),
    ).toHaveLength(1);
    expect(plain.notices.filter((message) => message.includes('asks for its own'))).toEqual([]);
  });

  it('gets them if the configuration honours them, and then all repeats of a task are equal', async () => {
    const { metrics, episodes } = await trainWith(FixedWalker, { requestSampling: 'honour' });
    for (const row of metrics) expect(row['groups_skipped']).toBe(row['groups']);
    const moves = (episode: Row): unknown => (episode['log_metrics'] as { readonly moves?: number }).moves;
    for (const taskId of new Set(episodes.map((episode) => episode['task_id']))) {
      const repeats = episodes.filter((episode) => episode['task_id'] === taskId);
      expect(new Set(repeats.map(moves)).size).toBe(1);
    }
  });
});

it('an agent whose temperature is honoured is trained at that temperature: no gap, no clipped token', async () => {
  const { metrics } = await trainWith(createWalker({ temperature: 0.6 }), { requestSampling: 'honour' });
  expect(metrics.some((row) => Number(row['groups_skipped']) < Number(row['groups']))).toBe(true);
  for (const row of metrics) expect(row).toMatchObject({ clip_fraction: 0, logprob_gap_max: 0 });
});
