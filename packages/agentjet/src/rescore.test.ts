import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatMessage, Task } from '@agentjet/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentJetJob, type Judge, type Tuner, type WorkflowOutput } from './index.js';

const folder = mkdtempSync(path.join(tmpdir(), 'rescore-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tasks: readonly Task[] = ['Ann has 3 nuts.', 'Ben has 5 pens.'].map((mainQuery, at) => ({
  taskId: `t${at}`,
  mainQuery,
  initMessages: [],
  metadata: { answer: at + 3, ...(at === 1 && { story: 'long '.repeat(2000) }) },
}));

const calculator = {
  name: 'calculator',
  description: 'Calculates.',
  parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
};

/** Two calls of one conversation, the second after the result of a tool. */
async function solve(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  const messages: ChatMessage[] = [
    { role: 'system', content: 'Solve the problem.' },
    { role: 'user', content: task.mainQuery },
  ];
  const { message } = await model.generate({ messages, tools: [calculator] });
  const [call] = message.toolCalls ?? [];
  const next: ChatMessage =
    call === undefined ? { role: 'user', content: 'And?' } : { role: 'tool', toolCallId: call.id, content: '7' };
  await model.generate({ messages: [...messages, message, next], tools: [calculator] });
  return { metadata: { length: message.content.length } };
}

type Seen = Readonly<Record<string, readonly ChatMessage[]>>;

/** A judge that keeps the conversations that it was shown, without the ids of tool calls, which a record does not have. */
function watch(reward: number): { readonly judge: Judge; readonly seen: Record<string, readonly ChatMessage[]> } {
  const seen: Record<string, readonly ChatMessage[]> = {};
  const judge: Judge = {
    judge: (task, { metadata }, { episodeId, transcripts }) => {
      seen[episodeId] = transcripts.flatMap(({ messages }) => messages.map(withoutIds));
      expect(metadata).toHaveProperty('length');
      expect(task.metadata['story']).toEqual(tasks.find(({ taskId }) => taskId === task.taskId)?.metadata['story']);
      return { reward, isSuccess: reward > 0.5, reason: `paid ${reward}` };
    },
  };
  return { judge, seen };
}

function withoutIds(message: ChatMessage): ChatMessage {
  if (message.role === 'tool') return { role: 'tool', content: message.content, toolCallId: '' };
  if (message.role !== 'assistant' || message.toolCalls === undefined) return message;
  return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: '' })) };
}

const createJob = (judge?: Judge): AgentJetJob => {
  const job = new AgentJetJob({ model: 'nano', numRepeat: 4, batchSize: 2, experimentDir: folder });
  job.setConfig({ trainerCommon: { totalTrainingSteps: 1, saveFreq: 0, valBeforeTrain: false, testFreq: 0 } });
  job.setWorkflow(solve).setData({ training: tasks });
  return judge === undefined ? job : job.setJudge(judge);
};
const quiet = { onEvent: () => undefined };
let runDir = '';
let shown: Seen = {};

beforeAll(async () => {
  const { judge, seen } = watch(0.25);
  const result = await createJob(judge).tune(quiet);
  runDir = result.runDir ?? '';
  shown = seen;
});

it('shows the judge what it saw in the run, and finds no change if it says the same', async () => {
  const { judge, seen } = watch(0.25);
  const report = await createJob(judge).rescore(runDir, quiet);
  expect(report).toMatchObject({ episodes: 8, rescored: 8, scoredByWorkflow: 0, changes: [], leftOut: [], steps: [1] });
  expect(Object.keys(seen)).toHaveLength(8);
  expect(seen).toEqual(shown);
});

it('reports what another judge says, by episode, and leaves the run as it is', async () => {
  const file = path.join(runDir, 'episodes', readdirSync(path.join(runDir, 'episodes'))[0] ?? '');
  const before = readFileSync(file);
  const report = await createJob(watch(0.75).judge).rescore(runDir, { ...quiet, step: 1 });
  expect(report).toMatchObject({
    before: { reward: 0.25, successRate: 0 },
    after: { reward: 0.75, successRate: 1 },
  });
  expect(report.changes).toHaveLength(8);
  expect(report.changes[0]).toMatchObject({
    step: 1,
    phase: 'train',
    before: { reward: 0.25, isSuccess: false, reason: 'paid 0.25' },
    after: { reward: 0.75, isSuccess: true, reason: 'paid 0.75' },
  });
  expect(readFileSync(file)).toEqual(before);
});

it('asks a judge of groups about the episodes of each group', async () => {
  const sizes: number[] = [];
  const judge = {
    judge: () => ({ reward: 0, isSuccess: false }),
    judgeGroup: (_task: Task, outputs: readonly WorkflowOutput[]) => {
      sizes.push(outputs.length);
      return outputs.map((_output, at) => ({ reward: at, isSuccess: at > 0 }));
    },
  };
  const report = await createJob(judge).rescore(runDir, quiet);
  expect(sizes).toEqual([4, 4]);
  expect(report.after).toEqual({ reward: 1.5, successRate: 0.75 });
});

it('leaves out episodes whose long task has changed, and says so', async () => {
  const job = createJob(watch(0.25).judge).setData({
    training: tasks.map((task) => ({ ...task, metadata: { ...task.metadata, story: 'other '.repeat(2000) } })),
  });
  const report = await job.rescore(runDir, quiet);
  expect(report).toMatchObject({ rescored: 4, leftOut: [{ episodes: 4 }] });
  expect(report.leftOut[0]?.reason).toContain('its long task, which has changed since');
});

it('counts episodes of which the judge gives no verdict', async () => {
  const judge: Judge = {
    judge: ({ taskId }) => {
      if (taskId === 't0') throw new Error('cannot read it');
      return { reward: 0.25, isSuccess: false };
    },
  };
  const report = await createJob(judge).rescore(runDir, quiet);
  expect(report).toMatchObject({ rescored: 4, leftOut: [{ episodes: 4, reason: 'no verdict: cannot read it' }] });
});

it('leaves out failed episodes, and those without tokens if the judge reads the conversation', async () => {
  const copy = path.join(folder, 'copy');
  cpSync(runDir, copy, { recursive: true });
  const file = path.join(copy, 'episodes', readdirSync(path.join(copy, 'episodes'))[0] ?? '');
  const [first = '', ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  const bare = JSON.stringify({ ...(JSON.parse(first) as object), samples: [] });
  writeFileSync(file, `${[bare, ...lines].join('\n')}\n`);
  const failed = { ...(JSON.parse(first) as object), episode_id: 'lost', status: 'failed', error: { code: 'timeout' } };
  appendFileSync(file, `${JSON.stringify(failed)}\n`);
  const report = await createJob(watch(0.25).judge).rescore(copy, quiet);
  expect(report).toMatchObject({ episodes: 9, rescored: 7 });
  expect(report.leftOut.map(({ reason }) => reason)).toEqual([
    'the episode failed, so there is nothing to score',
    expect.stringContaining('the judge reads the conversation'),
  ]);
});

it.each<[string, () => Promise<unknown>, RegExp]>([
  ['a folder without a run', () => createJob(watch(1).judge).rescore(folder, quiet), /is not a run folder/],
  [
    'a step that the run does not have',
    () => createJob(watch(1).judge).rescore(runDir, { ...quiet, step: 7 }),
    /no episodes of step 7\. Its episodes are of the steps 1 to 1\./,
  ],
  ['no judge', () => createJob().rescore(runDir, quiet), /names no judge, so rewards come from the workflow/],
  [
    'a judge that needs the environment',
    () => createJob({ ...watch(1).judge, needsEnvironment: true }).rescore(runDir, quiet),
    /environment of an episode, which is gone/,
  ],
])('says what is wrong with %s', async (_name, run, message) => {
  await expect(run()).rejects.toThrow(message);
});
