import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AgentJetJob, configuration, type Task, type Tuner } from 'agentjet';
import { openRunFolder, type MetricsRecord, type RecordedEpisode } from '@agentjet/run-folder';
import { SwarmClient } from '@agentjet/swarm-client';
import { serveSwarm } from '@agentjet/swarm-server';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

/**
 * An ordinary run and a swarm run the same workflow, and some of its episodes fail. Both write the same records.
 */

const toTasks = (ids: readonly string[]) => ids.map((taskId) => ({ taskId, mainQuery: `Say ${taskId}` }));
const training = toTasks(['a', 'b']);
const evaluation = toTasks(['right', 'wrong', 'broken', 'broken too']);

/** The first episode of each trained task fails; the others are rewarded in turn. */
function createWorkflow() {
  const seen = new Map<string, number>();
  return async ({ taskId, mainQuery }: Task, tuner: Tuner) => {
    const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
    await model.generate({ messages: [{ role: 'user', content: mainQuery }] });
    if (taskId.startsWith('broken')) throw new TypeError('an evaluated agent broke');
    if (taskId === 'right' || taskId === 'wrong')
      return { reward: taskId === 'right' ? 1 : 0.25, isSuccess: taskId === 'right' };
    const turn = seen.get(taskId) ?? 0;
    seen.set(taskId, turn + 1);
    if (turn === 0) throw new TypeError('a trained agent broke');
    return { reward: turn % 2, isSuccess: turn % 2 === 1, logMetrics: { turn } };
  };
}

const dir = mkdtempSync(path.join(tmpdir(), 'same-records-'));
const configFor = (name: string) =>
  configuration.create({
    experimentDir: dir,
    experimentName: name,
    model: { path: 'nano' },
    data: { trainBatchSize: 2 },
    rollout: { numRepeat: 4, maxResponseLengthInOneTurn: 4 },
    trainerCommon: { totalTrainingSteps: 1, testFreq: 0, maxEmptySteps: null, saveFreq: 0 },
    onnx: { numThreads: 1 },
  });

type Records = {
  readonly evaluations: readonly MetricsRecord[];
  readonly metrics: readonly MetricsRecord[];
  readonly evaluated: readonly RecordedEpisode[];
  readonly trained: readonly RecordedEpisode[];
};

async function readRecords(runDir: string): Promise<Records> {
  const run = await openRunFolder(runDir);
  const [before, step] = [await run.episodes.readStep(0), await run.episodes.readStep(1)];
  const ofPhase = (wanted: string) => [...before, ...step].filter(({ phase }) => phase === wanted);
  return {
    evaluations: await run.readEvaluations(),
    metrics: await run.readMetrics(),
    evaluated: ofPhase('evaluation').filter((episode) => episode.step === 0),
    trained: ofPhase('train'),
  };
}

async function runOrdinary(): Promise<Records> {
  const job = new AgentJetJob({ config: configFor('ordinary') })
    .setWorkflow(createWorkflow())
    .setData({ training, validation: evaluation });
  const { runDir } = await job.tune();
  return readRecords(runDir ?? '');
}

async function runSwarm(): Promise<Records> {
  const config = configFor('swarm');
  const served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
  try {
    const { url, firstKey } = served.server;
    const client = new SwarmClient({ url, key: firstKey });
    await client.run(createWorkflow(), { tasks: training, evaluationTasks: evaluation, parallel: 8 });
    await vi.waitFor(() => expect(served.server.swarm?.describe().version).toBe(1), 120_000);
    return await readRecords(served.runDir);
  } finally {
    await served.close();
  }
}

let ordinary: Records;
let swarm: Records;
beforeAll(async () => {
  ordinary = await runOrdinary();
  swarm = await runSwarm();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const withoutTimes = (record: MetricsRecord) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !key.startsWith('seconds')));

it('a failed episode counts in the success of an evaluation', () => {
  expect(ordinary.evaluations[0]).toMatchObject({
    step: 0,
    success_rate: 0.25,
    reward_mean: 1.25 / 4,
    episodes: 4,
    failed_episodes: 2,
  });
  const [before] = swarm.evaluations;
  expect(withoutTimes(before ?? { step: -1 })).toEqual(withoutTimes(ordinary.evaluations[0] ?? { step: -1 }));
  expect(before?.['seconds']).toBeGreaterThan(0);
});

it('a failed episode counts in the success of a step', () => {
  const counted = {
    episodes: 8,
    failed_episodes: 2,
    success_rate: 4 / 8,
    reward_mean: 4 / 8,
    'workflow/turn': 2,
    forks: 0,
    splices: 0,
    foreign_messages: 0,
  };
  expect(ordinary.metrics).toMatchObject([counted]);
  expect(swarm.metrics).toMatchObject([counted]);
});

const outcomesOf = (episodes: readonly RecordedEpisode[]) =>
  episodes.map(({ task_id: task, main_query: query, status, is_success: isSuccess, error }) => {
    const { code } = (error ?? {}) as { readonly code?: string };
    return [task, query, status, isSuccess, code].join(' ');
  });

it('every line names its task, its outcome and its phase', () => {
  expect(outcomesOf(ordinary.evaluated)).toEqual([
    'right Say right completed true ',
    'wrong Say wrong completed false ',
    'broken Say broken failed  workflow_failed',
    'broken too Say broken too failed  workflow_failed',
  ]);
  expect(outcomesOf(swarm.evaluated)).toEqual(outcomesOf(ordinary.evaluated));
  expect(outcomesOf(swarm.trained).sort()).toEqual(outcomesOf(ordinary.trained).sort());
});

it('the lines of both have the same keys', () => {
  const keysOf = (episodes: readonly RecordedEpisode[], wanted: string): readonly (readonly string[])[] =>
    episodes.filter(({ status }) => status === wanted).map((episode) => Object.keys(episode).sort());
  for (const part of ['evaluated', 'trained'] as const)
    for (const status of ['completed', 'failed'])
      expect(keysOf(swarm[part], status), `${part} ${status}`).toEqual(keysOf(ordinary[part], status));
  const seconds = [...swarm.evaluated, ...swarm.trained].map((episode) => episode['seconds']);
  expect(seconds.every((value) => typeof value === 'number' && value > 0)).toBe(true);
});
