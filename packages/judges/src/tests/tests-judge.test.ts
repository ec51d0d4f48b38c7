import { Outage, type CommonConfig, type Task } from '@agentjet/core';
import { judgeCases } from '@agentjet/rollout/testing';
import { openCodeRunner, SandboxError, type CodeRunner } from '@agentjet/sandbox';
import { afterAll, describe, expect, it } from 'vitest';
import { tests as registration } from './registration.js';
import { createTestsJudge, programIn, type TestsOptions } from './tests-judge.js';

const options: TestsOptions = {
  language: 'javascript',
  testsField: 'tests',
  outputField: 'answer',
  agent: null,
  limits: { seconds: 60 }, // long enough for a busy machine
};
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };
const taskWith = (tests: unknown): Task => ({
  taskId: 't',
  mainQuery: 'Write add(a, b).',
  initMessages: [],
  metadata: { tests },
});
const checks = ['if (add(1, 2) !== 3) throw new Error("1 + 2")', 'if (add("a", 1) !== "a1") throw new Error("a + 1")'];
const said = (answer: string, reward: number) => ({ task: taskWith(checks), output: { metadata: { answer } }, reward });

const runner = openCodeRunner('javascript');
afterAll(() => runner.close());

const examples = [
  said('const add = (a, b) => a + b;', 1),
  said('I think:\n```js\nfunction add(a, b) { return a + b }\n```\nDone.', 1),
  said('<think>```js\nlet add = (a, b) => a + b\n```</think>function add() {}', 0),
  said('const add = (a, b) => Number(a) + Number(b);', 0.5),
  said('', 0),
  said('throw new Error("early")', 0),
  said('function add( {', 0),
];
for (const { name, run } of judgeCases(() => createTestsJudge(runner, options), examples)) it(name, run);

it('says which test failed, and why', async () => {
  const judge = createTestsJudge(runner, options);
  expect(await judge.judge(taskWith(checks), { metadata: { answer: 'const add = () => 3' } }, context)).toEqual({
    reward: 0.5,
    isSuccess: false,
    reason: '1 of 2 tests passed; test 2: Error: a + 1',
  });
});

it('compares what a program prints for an input', async () => {
  const judge = createTestsJudge(runner, options);
  const task = taskWith([
    { stdin: '2\n3', stdout: '5' },
    { stdin: '10\n-1', stdout: '9\n' },
  ]);
  const ask = async (answer: string) => (await judge.judge(task, { metadata: { answer } }, context)).reward;
  expect(await ask('print(stdin.split("\\n").map(Number).reduce((a, b) => a + b))')).toBe(1);
  expect(await ask('print(5)')).toBe(0.5);
});

it('counts a limit that the program reaches as its failure', async () => {
  const judge = createTestsJudge(runner, { ...options, limits: { seconds: 1 } });
  const verdict = await judge.judge(taskWith('add()'), { metadata: { answer: 'for (;;) {}' } }, context);
  expect(verdict).toMatchObject({ reward: 0, reason: '0 of 1 tests passed; test 1: reached its limit of time' });
});

it('gives no reward if the sandbox fails', async () => {
  const broken: CodeRunner = {
    languages: ['javascript'],
    run: () => Promise.reject(new SandboxError('failed', 'the thread died')),
    talk: () => Promise.reject(new SandboxError('failed', 'the thread died')),
    close: async () => {},
  };
  const asked = createTestsJudge(broken, options).judge(taskWith(checks), { metadata: { answer: '1' } }, context);
  await expect(asked).rejects.toThrow(Outage);
});

it('gives no reward if the run stops', async () => {
  const controller = new AbortController();
  const judge = createTestsJudge(runner, options);
  const asked = judge.judge(
    taskWith(checks),
    { metadata: { answer: 'for (;;) {}' } },
    { ...context, signal: controller.signal },
  );
  controller.abort(new Error('stopped'));
  await expect(asked).rejects.toThrow('stopped');
});

it.each([undefined, [], '', [1], [{ stdin: 'a' }]])(
  'says that a task whose tests are %j is a mistake',
  async (tests) => {
    const asked = (async () => createTestsJudge(runner, options).judge(taskWith(tests), {}, context))();
    await expect(asked).rejects.toThrow('metadata.tests of task "t" is');
  },
);

it('takes the last block of code', () => {
  expect(programIn('```py\na\n```\n```\nb\nc\n```')).toBe('b\nc\n');
  expect(programIn('no block')).toBe('no block');
});

it('opens from a configuration', async () => {
  const section = {
    ...options,
    language: 'javascript' as const,
    sandbox: 'auto' as const,
    image: 'i',
    seconds: 60,
    megabytes: 64,
  };
  const judge = await registration.open(section, { config: {} as CommonConfig });
  expect(
    await judge?.judge(taskWith('if (a !== 1) throw 1'), { metadata: { answer: 'var a = 1' } }, context),
  ).toMatchObject({
    isSuccess: true,
  });
});

const python = ((): CodeRunner | string => {
  try {
    return openCodeRunner('python');
  } catch (error) {
    return String(error);
  }
})();

describe.skipIf(typeof python === 'string')('python', () => {
  it.each([
    ['def add(a, b): return a + b', 1],
    ['def add(a, b): return 3', 0.5],
    ['import sys; sys.exit(0)', 0],
    ['import os; os._exit(0)', 0],
    ['print("passed"); raise SystemExit', 0],
  ])('runs the checks against %s', async (answer, reward) => {
    if (typeof python === 'string') throw new Error(python);
    const judge = createTestsJudge(python, { ...options, language: 'python' });
    const task = taskWith(['assert add(1, 2) == 3', 'assert add(5, 5) == 10']);
    expect(await judge.judge(task, { metadata: { answer } }, context)).toMatchObject({ reward });
  });
});
