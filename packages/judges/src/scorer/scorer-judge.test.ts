import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChatMessage, CommonConfig, JsonObject, Task } from '@agentjet/core';
import type { JudgeContext } from '@agentjet/rollout';
import { judgeCases } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { scorer as registration } from './registration.js';
import { createScorerJudge } from './scorer-judge.js';
import type { Scorer } from './scorer.js';

const task: Task = { taskId: 't', mainQuery: '2 + 2?', initMessages: [], metadata: { answer: '4', passages: ['a'] } };
const { signal } = new AbortController();
const after = (...messages: readonly ChatMessage[]): JudgeContext => ({
  episodeId: 'e',
  signal,
  seed: 1,
  transcripts: [{ agentName: 'one', messages }],
  environment: null,
});
const says = (content: string) => after({ role: 'assistant', content });

/** The three forms of a result: of evalite's inline scorers, of its created ones and vitest-evals, and of autoevals. */
const equals: Scorer = ({ output, expected }: { output: string; expected?: string }) => Number(output === expected);
const said = (answer: string, reward: number) => ({ task, output: { metadata: { answer } }, reward });
describe('a scorer as a judge', () => {
  for (const { name, run } of judgeCases(() => createScorerJudge(equals), [said('4', 1), said('5', 0)])) it(name, run);
});

const seenBy = async (options: Parameters<typeof createScorerJudge>[1], context = says('4'), given = task) => {
  let seen: JsonObject = {};
  const judge = createScorerJudge((args: JsonObject) => ((seen = args), 0.5), options);
  const verdict = await judge.judge(given, {}, context);
  return { seen, verdict };
};

it('gets the question, the last answer, the right answer, and further arguments', async () => {
  const options = { taskFields: { context: 'passages' }, options: { model: 'm', input: 'never' }, successFrom: 0.5 };
  const { seen, verdict } = await seenBy(options);
  expect(seen).toMatchObject({ input: '2 + 2?', output: '4', expected: '4', context: ['a'], model: 'm' });
  expect(verdict).toEqual({ reward: 0.5, isSuccess: true });
  const without = await seenBy({}, says('4'), { ...task, metadata: {} });
  expect('expected' in without.seen).toBe(false);
  expect(without.verdict.isSuccess).toBe(false);
  await expect(seenBy({ taskFields: { context: 'nothing' } })).rejects.toThrow(
    /metadata\.nothing of task "t" is missing/,
  );
});

it('sees tool calls with their results', async () => {
  const toolCalls = [
    { id: 'a', name: 'add', arguments: '{"x": 2}' },
    { id: 'b', name: 'end', arguments: 'oh' },
  ];
  const { seen } = await seenBy(
    {},
    after(
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', content: '4', toolCallId: 'a' },
    ),
  );
  expect(seen['toolCalls']).toEqual([
    { name: 'add', arguments: { x: 2 }, status: 'ok', result: '4' },
    { name: 'end', arguments: { _raw: 'oh' }, status: 'pending' },
  ]);
  expect((seen['session'] as { events: readonly JsonObject[] }).events.map(({ type }) => type)).toEqual([
    'message',
    'tool_call',
    'tool_call',
    'tool_result',
  ]);
});

it('reads numbers and JSON; an answer that is neither earns nothing', async () => {
  const read = async (how: 'number' | 'json', answer: string) => {
    const { seen, verdict } = await seenBy({ read: how }, says(answer));
    return [seen['output'], verdict.reward];
  };
  expect(await read('number', ' 4.5 ')).toEqual([4.5, 0.5]);
  expect(await read('number', 'four')).toEqual([undefined, 0]);
  expect(await read('number', '')).toEqual([undefined, 0]);
  expect(await read('json', '{"a": [1]}')).toEqual([{ a: [1] }, 0.5]);
  expect(await read('json', '{"a"')).toEqual([undefined, 0]);
});

it.each([
  [{ name: 'Length', scorer: () => ({ score: 1, metadata: { rationale: 'long' } }) }, 1, 'long'],
  [{ name: 'J', assess: async ({ run }: JsonObject) => ({ score: Number(run !== undefined) }) }, 1, undefined],
  [() => true, 1, undefined],
] as const)('takes every form of scorer (%#)', async (scorer, reward, reason) => {
  expect(await createScorerJudge(scorer).judge(task, {}, says('4'))).toEqual({
    reward,
    isSuccess: true,
    ...(reason !== undefined && { reason }),
  });
});

it("binds a judge's own model", async () => {
  const judgeHarness = { run: async (input: unknown) => ({ output: [input] }) };
  const assess = async ({ runJudge }: { runJudge: (input: string) => Promise<unknown[]> }) => ({
    score: (await runJudge('q')).length,
  });
  expect(await createScorerJudge({ name: 'J', assess, judgeHarness }).judge(task, {}, says('4'))).toMatchObject({
    reward: 1,
  });
});

const withoutScore: readonly (readonly [Scorer, RegExp])[] = [
  [() => ({ name: 'F', score: null, error: new Error('no key') }), /gave no score|: no key/],
  [() => null, /gave no score for task "t"/],
  [() => 'good', /gave "good" for task "t"/],
  [() => ({ score: Number.NaN }), /A score is a number/],
  [() => ({ name: 'J', assess: () => 1 }), /makes a scorer: call it in a file of yours/],
];
it.each(withoutScore)('gives no reward without a score (%#)', async (scorer, message) => {
  await expect(createScorerJudge(scorer).judge(task, {}, says('4'))).rejects.toThrow(message);
});

it('is named by a configuration, in a file or in an installed package', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'scorer-'));
  try {
    const file = path.join(folder, 'score.mjs');
    writeFileSync(
      file,
      'export const equal = ({ output, expected }) => Number(output === expected);\nexport const five = 5;\n',
    );
    const open = (reference: string | null) =>
      registration.open({ ...section, function: reference }, { config: {} as CommonConfig });
    const judge = await open(`${file}->equal`);
    expect(await judge?.judge(task, {}, says('4'))).toEqual({ reward: 1, isSuccess: true });
    await expect(open(`${file}->five`)).rejects.toThrow(/score\.mjs->five is of type number/);
    await expect(open(null)).rejects.toThrow(/function is not set/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const section = {
  taskField: 'answer',
  taskFields: {},
  options: {},
  read: 'text' as const,
  outputField: 'answer',
  agent: null,
  successFrom: 1,
};
