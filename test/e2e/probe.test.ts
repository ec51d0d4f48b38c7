import path from 'node:path';
import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { createJobFolder, createScratchFolder } from './support/job-folder.js';
import { toJsonLines } from './support/job-files.js';
import { runAjet, startAjet } from './support/run-ajet.js';
import { writeTinyModel } from './support/tiny-model.js';

let modelDir: string;
beforeAll(async () => {
  modelDir = await writeTinyModel(path.join(createScratchFolder(), 'model'));
});

const tasks = (count: number) =>
  toJsonLines(Array.from({ length: count }, (_, index) => ({ task_id: `t${index}`, main_query: `Say ${index}` })));

type Report = {
  readonly episodes: number;
  readonly temperatures: readonly {
    readonly temperature: number;
    readonly episodes: number;
    readonly lost_episodes: number;
    readonly success: { readonly rate: number; readonly low: number; readonly high: number };
    readonly groups_that_train: Readonly<Record<string, { readonly rate: number }>>;
  }[];
} & Readonly<Record<string, unknown>>;

const lastLine = (stdout: string): Report => JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Report;

it('predicts how a run would go, in one line of JSON, and writes no run', async () => {
  const folder = createJobFolder(modelDir, { 'train.jsonl': tasks(30) });
  const { code, stdout, stderr } = await runAjet(folder, ['probe', 'job.yaml', '--json']);
  expect(code).toBe(0);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  const report = lastLine(stdout);
  expect(report).toMatchObject({
    available_tasks: 30,
    interrupted: false,
    settings: { 'rollout.num_repeat': expect.any(Number), 'rollout.temperature': expect.any(Number) },
    expected: { rate: expect.any(Number), low: expect.any(Number), high: expect.any(Number) },
    lengths: { longest_sample: expect.any(Number) },
    step: { tasks: 2, sampling: { value: expect.any(Number) }, memory: { place: 'host' } },
  });
  expect(report.temperatures.map(({ temperature }) => temperature)).toEqual([1, 0.7]);
  for (const { episodes, success, groups_that_train: groups } of report.temperatures) {
    expect(episodes).toBeGreaterThanOrEqual(16 * 4);
    expect(success.low).toBeLessThanOrEqual(success.rate);
    expect(success.high).toBeGreaterThanOrEqual(success.rate);
    expect(Object.keys(groups)).toEqual(['4', '8', '16']);
  }
  expect(stderr).toMatch(/groups that train, num_repeat 8/);
  expect(stderr).toContain('next: ajet --conf job.yaml');
  expect(existsSync(path.join(folder, 'saved_experiments'))).toBe(false);
});

/** The first six calls of the world are lost, and every third episode of the agent fails. */
const troubled = {
  'agent.ts': `
let calls = 0;
const world = () => {
  if (++calls <= 6) throw Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
};
export async function speak(task, tuner) {
  const model = tuner.selectModel({ agentName: 'speaker' }, (tuned) => tuned);
  const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
  world();
  if (calls % 3 === 0) throw new Error('the agent is broken');
  return { reward: message.content.length % 2, isSuccess: message.content.length % 2 === 1 };
}
`,
};

it('counts neither outages as failures nor failures as successes, and takes names as flags', async () => {
  const folder = createJobFolder(
    modelDir,
    { ...troubled, 'train.jsonl': tasks(4) },
    { rollout: { user_workflow: 'agent.ts->speak' } },
  );
  const { code, stdout, stderr } = await runAjet(folder, [
    'probe',
    '--conf',
    'job.yaml',
    '--temperatures',
    '0.5',
    '--json',
    'rollout.num_repeat=2',
  ]);
  expect(code).toBe(0);
  const [first, second] = lastLine(stdout).temperatures;
  expect(first).toMatchObject({ lost_episodes: 6, failed_episodes: expect.any(Number) });
  expect(second?.temperature).toBe(0.5);
  expect(Object.keys(first?.groups_that_train ?? {})).toEqual(['2', '4', '8', '16']);
  expect(stderr).toMatch(/episodes failed. The first error: .*the agent is broken/);
  expect(stderr).toMatch(/^next: ajet --conf job\.yaml .*rollout\.num_repeat=\d+/m);
});

it('predicts by the rules of the run: cut answers that are left out, and a teacher', async () => {
  const folder = createJobFolder(modelDir);
  const expectedOf = async (...settings: readonly string[]): Promise<unknown> => {
    const { code, stdout } = await runAjet(folder, ['probe', 'job.yaml', '--json', ...settings]);
    expect(code).toBe(0);
    return lastLine(stdout)['expected'];
  };
  const allCut = ['rollout.max_response_length_in_one_turn=2', 'trainer_common.mask_truncated_completions=true'];
  expect(await expectedOf(...allCut)).toMatchObject({ rate: 0 });
  const taught = ['trainer_common.algorithm.adv_estimator=distill', `teacher.model=${modelDir}`];
  expect(await expectedOf(...taught, 'rollout.num_repeat=2')).toMatchObject({ rate: 1 });
});

it('prints what is known after Ctrl-C', async () => {
  const slow = {
    'agent.ts': `
let begun = 0;
export async function wait(task, tuner) {
  const isLate = ++begun > 20;
  if (isLate) {
    await new Promise((resolve) => setTimeout(resolve, 500)); // the others end meanwhile
    console.error('waiting');
    await new Promise((_, reject) => tuner.signal.addEventListener('abort', () => reject(new Error('stopped'))));
  }
  return { reward: begun % 2 };
}
`,
    'train.jsonl': tasks(20),
  };
  const folder = createJobFolder(modelDir, slow, { rollout: { user_workflow: 'agent.ts->wait' } });
  const running = startAjet(folder, ['probe', 'job.yaml', '--json']);
  await running.waitFor(/waiting/);
  running.child.kill('SIGINT');
  const { code, stdout, stderr } = await running.finished;
  expect(code).toBe(130);
  const report = lastLine(stdout);
  expect(report).toMatchObject({ interrupted: true, temperatures: [{ episodes: 20 }, { episodes: 0, success: null }] });
  expect(stderr).toContain('stopped before its end');
});

it('names what is wrong with its arguments', async () => {
  const folder = createJobFolder(modelDir);
  const errorOf = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await runAjet(folder, ['probe', ...args]);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await errorOf()).toContain('name the job: ajet probe <file.yaml>');
  expect(await errorOf('rollout.num_repeat=4')).toContain('name the job: ajet probe <file.yaml>');
  expect(await errorOf('job.yaml', '--tasks', 'many')).toContain('--tasks is "many", not a whole number');
  expect(await errorOf('job.yaml', '--temperatures', '0.7,hot')).toContain('--temperatures is "hot"');
  expect(await errorOf('job.yaml', 'rollout.num_repaet=4')).toContain('Did you mean "rollout.num_repeat"?');
  expect(readFileSync(path.join(folder, 'job.yaml'), 'utf8')).toContain('sayLetters');
});
