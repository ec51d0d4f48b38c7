import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { AgentJetJob } from './job.js';

const dir = mkdtempSync(path.join(tmpdir(), 'ajet-difficulty-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('trains on the tasks that the model solves sometimes, and the run says which it left out', async () => {
  const episodes = new Map<string, number>();
  const job = createJob(episodes, 'sometimes');
  const { runDir } = await job.tune({ onEvent: () => {} });
  expect(Object.fromEntries(episodes)).toEqual({ easy: 2, hard: 2, a: 4, b: 4 });
  const { training } = JSON.parse(readFileSync(path.join(runDir ?? '', 'tasks.json'), 'utf8'));
  expect(training).toMatchObject({
    tasks: 2,
    dropped: [
      { reason: expect.stringMatching(/^too easy/), count: 1, examples: ['easy'] },
      { reason: expect.stringMatching(/^too hard/), count: 1, examples: ['hard'] },
    ],
  });
  await job.tune({ onEvent: () => {} });
  expect(Object.fromEntries(episodes)).toEqual({ easy: 2, hard: 2, a: 6, b: 6 }); // no task is probed twice
});

it('probes again in another world', async () => {
  const episodes = new Map<string, number>();
  await createJob(episodes, 'world', { agentjet: { params: { slippery: true } } }).tune({ onEvent: () => {} });
  expect(Object.fromEntries(episodes)).toEqual({ easy: 2, hard: 2, a: 4, b: 4 });
  await createJob(episodes, 'world', { agentjet: { params: { slippery: false } } }).tune({ onEvent: () => {} });
  expect(Object.fromEntries(episodes)).toEqual({ easy: 4, hard: 4, a: 8, b: 8 });
});

function createJob(episodes: Map<string, number>, experimentName: string, environment: object = {}): AgentJetJob {
  return new AgentJetJob({
    maxPromptLength: 128,
    maxResponseLength: 128,
    maxResponseLengthInOneTurn: 4,
    maxModelLen: 256,
    numRepeat: 2,
    batchSize: 2,
    experimentDir: dir,
    experimentName,
    config: {
      environment,
      trainerCommon: { valBeforeTrain: false, totalTrainingSteps: 1 },
      taskReader: { difficulty: { samples: 2 } },
    },
  })
    .setWorkflow(async (task, tuner) => {
      const count = episodes.get(task.taskId) ?? 0;
      episodes.set(task.taskId, count + 1);
      const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
      await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
      return { reward: task.taskId === 'easy' || (task.taskId !== 'hard' && count % 2 === 1) ? 1 : 0 };
    })
    .setData({ training: ['easy', 'a', 'hard', 'b'].map((taskId) => ({ taskId, mainQuery: taskId })) });
}
