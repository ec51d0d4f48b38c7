import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { readModelFolder, readTensorInto } from '@agentjet/trainer/model-files';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { meanOf, nameTags, piecesOf } from './name-tags.js';
import { drawTasks, splitOf } from './questions.js';
import { answerCall, cities, items, schemas, type ToolCall, warehouses, weekdays } from './shop.js';
import { answerCustomer } from './workflow.js';
import { drawQuestions, transcriptsOf } from './write-transcripts.js';

const call: ToolCall = { name: 'quote_price', input: { item: 'desk', quantity: 3, express: true } };
const task = {
  taskId: 'a',
  mainQuery: 'What do 3 pieces of the desk cost? It is urgent, so send it express.',
  initMessages: [],
  metadata: { tool: call.name, call, answer: answerCall(call) },
};

const write = (input: object, name = 'quote_price'): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`;

async function play(...replies: readonly string[]) {
  const { tuner, engine } = openScriptedEpisode({ replies });
  return { output: await answerCustomer(task, tuner), engine };
}

it('succeeds with the right call and its result as the answer', async () => {
  const { output, engine } = await play(write(call.input), '66');
  expect(output).toMatchObject({ reward: 1, isSuccess: true, logMetrics: { right_call: 1 } });
  expect(engine.requests[0]?.text).toMatch(/count_stock[^]*quote_price[^]*plan_delivery/);
});

it('offers no tools once one was called', async () => {
  const { engine } = await play(write(call.input), '66');
  expect(engine.requests.map(({ text }) => text.includes('quote_price') && text.includes('count_stock'))).toEqual([
    true,
    false,
  ]);
});

it('gives half of the reward for the right call with another answer', async () => {
  const { output } = await play(write(call.input), 'It costs 66 euros.');
  expect(output).toMatchObject({ reward: 0.5, isSuccess: false, logMetrics: { right_call: 1 } });
});

it('writes limits for whole numbers into the schemas', () => {
  for (const schema of Object.values(schemas))
    expect(JSON.stringify(z.toJSONSchema(schema))).not.toContain(String(Number.MAX_SAFE_INTEGER));
});

it.each([
  ['another tool', [write({ item: 'desk', warehouse: 'north' }, 'count_stock'), '66']],
  ['another quantity', [write({ ...call.input, quantity: 4 }), '66']],
  ['a number in quotes', [write({ ...call.input, quantity: '3' }), '66']],
  ['two calls at once', [`${write(call.input)}\n${write(call.input)}`, '66']],
  ['no call', ['66']],
])('fails with %s', async (_what, replies) => {
  expect((await play(...replies)).output).toMatchObject({ reward: 0, isSuccess: false });
});

it('draws questions whose calls fit the types of the tools, each on one side', () => {
  const tasks = drawTasks('evaluation', { seed: 1, count: 100 });
  const names = new Set(tasks.map(({ metadata }) => metadata['tool']));
  expect(names.size).toBe(3);
  for (const { mainQuery, metadata } of tasks) {
    const { name, input } = metadata['call'] as ToolCall;
    expect(schemas[name].safeParse(input).success).toBe(true);
    expect(splitOf(mainQuery)).toBe('evaluation');
  }
});

it('imitates each value of an argument in three questions, or in all that there are, and none of the evaluation', () => {
  type Tasks = ReturnType<typeof drawQuestions>;
  const countOf = (tasks: Tasks, name: string, [key, value]: readonly [string, unknown]): number =>
    tasks
      .map(({ metadata }) => metadata['call'] as ToolCall)
      .filter((each) => each.name === name && Reflect.get(each.input, key) === value).length;
  const expected = [
    ['count_stock', { item: items, warehouse: warehouses }],
    ['quote_price', { item: items, express: [true, false] }],
    ['plan_delivery', { city: cities, weekday: weekdays, floor: [0, 1, 2, 3, 4, 5, 6] }],
  ] as const;
  const [imitated, all] = [drawQuestions(), drawTasks('training', { seed: 2, count: 600 })];
  for (const [name, input] of expected)
    for (const [key, values] of Object.entries(input))
      for (const value of values) {
        const count = countOf(imitated, name, [key, value]);
        expect(count, `${name} ${value}`).toBeGreaterThanOrEqual(Math.min(3, countOf(all, name, [key, value])));
        expect(count, `${name} ${value}`).toBeGreaterThanOrEqual(2);
      }
  expect(imitated).toHaveLength(77);
  expect(imitated.map(({ mainQuery }) => splitOf(mainQuery))).not.toContain('evaluation');
});

it('writes a transcript of the call with tools, and one of the answer without them', () => {
  type Transcript = { readonly messages: readonly { readonly role: string; readonly weight?: number }[] };
  const [first, second] = transcriptsOf(task) as readonly (Transcript & { readonly tools?: readonly object[] })[];
  expect(first?.tools).toHaveLength(3);
  expect(first?.messages.at(-1)).toMatchObject({ role: 'assistant', tool_calls: [{ type: 'function' }] });
  expect(second?.tools).toBeUndefined();
  expect(second?.messages.map(({ role, weight }) => (role === 'assistant' ? (weight ?? 1) : role))).toEqual([
    'system',
    'user',
    0,
    'tool',
    1,
  ]);
  expect(second?.messages.at(-1)).toMatchObject({ content: '66' });
});

it('gives each tag the mean of the rows of its text, and changes no other row', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'named-tags-'));
  try {
    cpSync(nanoModelDir, dir, { recursive: true });
    const read = async (): Promise<{ readonly values: Float32Array; readonly width: number }> => {
      const entry = (await readModelFolder(dir)).tensors.get('model.embed_tokens.weight');
      if (entry === undefined) throw new Error('nano has no embedding.');
      const values = new Float32Array(entry.shape.reduce((product, size) => product * size, 1));
      await readTensorInto(entry, values);
      return { values, width: entry.shape[1] ?? 0 };
    };
    const { values: before, width } = await read();
    await nameTags(dir);
    const { values: after } = await read();
    const { tokenizer } = await loadChatTokenizer(dir);
    const rowOf = (values: Float32Array, id: number): Float32Array => values.slice(id * width, (id + 1) * width);
    const ids = ['<tool_call>', '</tool_call>'].map((tag) => tokenizer.idOf(tag) ?? -1);
    const pieces = piecesOf('</tool_call>', tokenizer);
    expect(tokenizer.decode(pieces)).toBe('</tool_call>');
    expect(pieces).not.toContain(ids[1]);
    const mean = meanOf(pieces.map((id) => rowOf(before, id)));
    rowOf(after, ids[1] ?? -1).forEach((value, at) => expect(value).toBeCloseTo(mean[at] ?? 0, 2));
    const changed = [...before.keys()].filter((at) => before[at] !== after[at]).map((at) => Math.floor(at / width));
    expect([...new Set(changed)]).toEqual(ids.toSorted((a, b) => a - b));
  } finally {
    rmSync(dir, { recursive: true });
  }
});
