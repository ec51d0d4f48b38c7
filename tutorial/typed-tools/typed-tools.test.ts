import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { expect, it } from 'vitest';
import { drawTasks, splitOf } from './questions.js';
import { answerCall, schemas, type ToolCall } from './shop.js';
import { answerCustomer } from './workflow.js';
import { transcriptOf } from './write-transcripts.js';

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

it.each([
  ['another tool', [write({ item: 'desk', warehouse: 'north' }, 'count_stock'), '66']],
  ['another quantity', [write({ ...call.input, quantity: 4 }), '66']],
  ['a number in quotes', [write({ ...call.input, quantity: '3' }), '66']],
  ['a second call', [write(call.input), write(call.input), '66']],
  ['no call', ['66']],
  ['the right call and a sentence', [write(call.input), 'It costs 66 euros.']],
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

it('writes transcripts that end with the result of the call', () => {
  const { messages } = transcriptOf(task) as { readonly messages: readonly { readonly content: string }[] };
  expect(messages.map(({ content }) => content).slice(3)).toEqual(['66', '66']);
});
