import type { CommonConfig } from '@agentjet/core';
import { pairedDifference } from '@agentjet/core/success';
import type { RecordedEpisode, RunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';
import { FirstEvaluation } from './first-evaluation.js';

const config = { trainerCommon: { valPassN: 1 }, rollout: {} } as CommonConfig;

/** A run folder with an evaluation of these lines before the first step. */
function folderWith(lines: readonly object[]): Pick<RunFolder, 'readEvaluations' | 'episodes'> {
  return {
    readEvaluations: async () => (lines.length === 0 ? [] : [{ step: 0, success_rate: 0 }]),
    episodes: { readStep: async () => lines as readonly RecordedEpisode[] },
  } as unknown as RunFolder;
}

const scores = (...successes: readonly number[]) =>
  successes.map((each, at) => ({ taskId: `t${at}`, successes: each, trials: 1 }));

it('each evaluation is compared with the first one, task by task', async () => {
  const first = new FirstEvaluation(folderWith([]), config);
  expect(await first.changeTo(0, scores(0, 1, 0, 0))).toBeUndefined();
  const expected = pairedDifference(scores(0, 1, 0, 0), scores(1, 1, 1, 0));
  expect(await first.changeTo(5, scores(1, 1, 1, 0))).toEqual({ ...expected, sinceStep: 0, tasks: 4 });
  expect(await first.changeTo(10, scores(0, 1))).toMatchObject({ difference: 0, tasks: 2 });
  expect(await first.changeTo(15, [{ taskId: 'other', successes: 1, trials: 1 }])).toBeUndefined();
});

it('a resumed run reads the first evaluation from its folder, without lost episodes and sampled ones', async () => {
  const line = (task: string, more: object) => ({ phase: 'evaluation', task_id: task, repeat_index: 0, ...more });
  const folder = folderWith([
    line('t0', { status: 'completed', is_success: false }),
    line('t1', { status: 'completed', is_success: true }),
    line('t2', { status: 'failed', error: { code: 'timeout', message: '' } }),
    line('t3', { status: 'failed', error: { code: 'x', message: '', outage: { source: 'model', host: '' } } }),
    line('t0', { status: 'completed', is_success: true, repeat_index: 1 }),
    { phase: 'train', task_id: 't0', repeat_index: 0, status: 'completed', is_success: true },
  ]);
  const resumed = new FirstEvaluation(folder, config);
  const change = await resumed.changeTo(5, scores(1, 1, 1, 1));
  expect(change).toEqual({ ...pairedDifference(scores(0, 1, 0), scores(1, 1, 1)), sinceStep: 0, tasks: 3 });
});
