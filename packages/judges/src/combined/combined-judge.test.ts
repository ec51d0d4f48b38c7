import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outage, type CommonConfig, type Task, type Verdict } from '@agentjet/core';
import type { Judge } from '@agentjet/rollout';
import { judgeCases } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { createCombinedJudge, type CombinedPart } from './combined-judge.js';
import { singleJudges } from '../registrations.js';
import { combine } from './registration.js';

const task: Task = { taskId: 't', mainQuery: '2 + 2?', initMessages: [], metadata: { answer: '4' } };
const context = { episodeId: 'e', signal: new AbortController().signal, seed: 1, transcripts: [], environment: null };
const options = { gateReward: 0, successFrom: null };

const says = (verdict: Partial<Verdict>): Judge => ({ judge: () => ({ reward: 0, isSuccess: false, ...verdict }) });
const part = (name: string, judge: Judge, more: Partial<CombinedPart> = {}): CombinedPart => ({
  name,
  judge,
  weight: 1,
  isGate: false,
  ...more,
});

const right: Judge = {
  judge: (_task, { metadata }) => ({
    reward: Number(metadata?.['answer'] === '4'),
    isSuccess: metadata?.['answer'] === '4',
  }),
};
const short: Judge = {
  judge: (_task, { metadata }) => ({ reward: String(metadata?.['answer']).length < 3 ? 1 : 0, isSuccess: true }),
};
const said = (answer: string, reward: number) => ({ task, output: { metadata: { answer } }, reward });
const both = () =>
  createCombinedJudge([part('right', right, { weight: 0.75 }), part('short', short, { weight: 0.25 })], options);
for (const { name, run } of judgeCases(both, [said('4', 1), said('5', 0.25), said('four', 0)])) it(name, run);

it('adds up weighted parts, and records each of them with its reason', async () => {
  const judge = createCombinedJudge(
    [
      part('a', says({ reward: 0.5, isSuccess: true, parts: { vote_spread: 0.1 }, reason: 'half' }), { weight: 2 }),
      part('b', says({ reward: -1, isSuccess: true }), { weight: 0.5 }),
    ],
    options,
  );
  expect(await judge.judge(task, {}, context)).toEqual({
    reward: 0.5,
    isSuccess: true,
    parts: { a: 0.5, 'a/vote_spread': 0.1, b: -1 },
    reason: 'a: half',
  });
});

it('asks nothing more once a gate is closed', async () => {
  const never: Judge = { judge: () => expect.unreachable('It was asked.') };
  const judge = createCombinedJudge(
    [
      part('form', says({ reason: 'no tags' }), { isGate: true }),
      part('model', never),
      part('second', never, { isGate: true }),
    ],
    { ...options, gateReward: -0.5 },
  );
  expect(await judge.judge(task, {}, context)).toEqual({
    reward: -0.5,
    isSuccess: false,
    parts: { form: 0 },
    reason: 'The gate form is closed. form: no tags',
  });
});

it('counts a gate that is open with its weight', async () => {
  const judge = createCombinedJudge(
    [
      part('form', says({ reward: 1, isSuccess: true }), { isGate: true, weight: 0.1 }),
      part('a', says({ reward: 0.5 })),
    ],
    { ...options, successFrom: 0.6 },
  );
  expect(await judge.judge(task, {}, context)).toMatchObject({ reward: 0.6, isSuccess: true });
});

it('refuses a part whose verdict is not one', async () => {
  const broken = (verdict: unknown) =>
    createCombinedJudge([part('mine', { judge: () => verdict as Verdict })], options);
  const ask = (verdict: unknown) => broken(verdict).judge(task, {}, context);
  await expect(ask(undefined)).rejects.toThrow('The part mine returned undefined');
  await expect(ask({ reward: 1, isSuccess: 'no' })).rejects.toThrow("The part mine's isSuccess");
  await expect(ask({ reward: 1, parts: { a: Number.NaN } })).rejects.toThrow("The part mine's parts.a is NaN");
});

it('gives no reward if a part cannot be reached', async () => {
  const away: Judge = { judge: () => Promise.reject(new Outage('away')) };
  const judge = createCombinedJudge([part('a', says({ reward: 1 })), part('b', away)], options);
  await expect(judge.judge(task, {}, context)).rejects.toThrow(Outage);
});

it('asks for the environment if a part does', () => {
  const needy: Judge = { ...says({}), needsEnvironment: true };
  expect(createCombinedJudge([part('a', needy)], options).needsEnvironment).toBe(true);
  expect(createCombinedJudge([part('a', says({}))], options).needsEnvironment).toBeUndefined();
});

const registration = combine(singleJudges);
const config = { taskJudge: { judgeType: 'combined' } } as unknown as CommonConfig;
const section = { parts: { answer: 1 }, gates: [] as string[], gateReward: 0, successFrom: null };

it('opens parts by name, each with its own section', async () => {
  const given = { taskJudge: { answer: { compare: 'text', taskField: 'answer', outputField: 'answer', agent: null } } };
  const judge = await registration.open(section, { config: { ...config, ...given } as unknown as CommonConfig });
  expect(await judge?.judge(task, { metadata: { answer: '4' } }, context)).toMatchObject({
    reward: 1,
    parts: { answer: 1 },
  });
});

it('records parts of the same name from two files apart', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'combined-'));
  const files = ['a.mjs', 'b.mjs'].map((name) => path.join(folder, name));
  files.forEach((file, at) => writeFileSync(file, `export const style = () => ({ reward: ${at}, isSuccess: true });`));
  const [first = '', second = ''] = files.map((file) => `${file}->style`);
  const judge = await registration.open({ ...section, parts: { [first]: 1, [second]: 1 } }, { config });
  expect(await judge?.judge(task, {}, context)).toMatchObject({ reward: 1, parts: { style: 0, [second]: 1 } });
  rmSync(folder, { recursive: true });
});

it.each([
  [{ parts: {} }, /parts is empty/],
  [{ parts: { anser: 1 } }, /names "anser".*Did you mean "answer"/s],
  [{ gates: ['combined'] }, /names "combined"/],
])('says what is wrong with %j', async (wrong, message) => {
  const opening = (async () => registration.open({ ...section, ...wrong } as typeof section, { config }))();
  await expect(opening).rejects.toThrow(message);
});

it('gives each part its own copy of the task', async () => {
  const spoiling: Judge = {
    judge: ({ metadata }) => {
      Object.assign(metadata, { answer: '5' });
      return { reward: 0, isSuccess: true };
    },
  };
  const reading: Judge = {
    judge: ({ metadata }) => ({ reward: Number(metadata['answer'] === '4'), isSuccess: true }),
  };
  const judge = createCombinedJudge([part('spoiling', spoiling, { isGate: true }), part('reading', reading)], options);
  expect(await judge.judge(task, {}, context)).toMatchObject({ reward: 1 });
});
