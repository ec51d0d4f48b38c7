import { expect, it } from 'vitest';
import { parseFields } from './fields.js';
import { createRowToTask } from './row-to-task.js';

const row = { id: 7, question: 'What is 2 + 2?', answer: 'Four.\n#### 1\nSo:\n#### 4 ', choices: { text: ['a', 'b'] } };
const where = (): string => 'data.csv:3';

it('takes a task from the columns that fields name, and keeps the row as metadata', () => {
  const fields = { main_query: 'question', answer: 'answer|after:####', task_id: 'id', first: 'choices.text.0' };
  expect(createRowToTask(fields, 'gsm8k/train')(row, where, 12)).toEqual({
    taskId: 'gsm8k/train/7',
    mainQuery: 'What is 2 + 2?',
    initMessages: [],
    metadata: { ...row, answer: '4', first: 'a' },
  });
  expect(createRowToTask({ main_query: 'question' }, 'gsm8k/train')(row, where, 12).taskId).toBe('gsm8k/train/12');
  const chain = { main_query: 'answer|after:So:|before:4' };
  expect(createRowToTask(chain, '')(row, where, 0).mainQuery).toBe('####');
});

it('reads messages and metadata from JSON in a string, as CSV has them', () => {
  const csv = { chat: '[{"role": "user", "content": "hi"}]', extra: '{"level": 2}' };
  const fields = { init_messages: 'chat', metadata: 'extra' };
  expect(createRowToTask(fields, 's')(csv, where, 0)).toEqual({
    taskId: 's/0',
    mainQuery: '',
    initMessages: [{ role: 'user', content: 'hi' }],
    metadata: { level: 2 },
  });
});

it.each([
  [
    { main_query: 'qestion' },
    /^data\.csv:3: there is no column "qestion"\. The columns are id, question, answer, choices\. Did you mean "question"\?/,
  ],
  [{ main_query: 'choices.label' }, /there is no column "choices\.label"/],
  [
    { main_query: 'question', answer: 'question|after:####' },
    /column "question" has no "####": "What is 2.* name another mark in fields/,
  ],
  [
    { main_query: 'question', answer: 'id|after:####' },
    /column "id" is not a string: 7\. To use it unchanged, write "id" in fields/,
  ],
  [{ main_query: 'id' }, /main_query is 7, which is not a string\. .*fields\.main_query/],
  [{ answer: 'answer' }, /the question is empty/],
  [{ main_query: 'question', task_id: 'choices' }, /task_id is \{"text"/],
])('refuses %j with the place and what there is', (fields, message) => {
  expect(() => createRowToTask(fields as Readonly<Record<string, string>>, '')(row, where, 0)).toThrow(message);
});

it('never guesses a question: it lists the columns', () => {
  expect(() => createRowToTask({}, '')(row, where, 0)).toThrow(
    /task_id is missing.*Its columns are id, question, answer, choices: .*"fields"/,
  );
});

it.each([
  ['|after:x', /names no column/],
  ['answer|after', /"after" is not after:<mark>/],
  ['answer|after:', /is not after:<mark>/],
  ['answer|upper:x', /is not after:<mark>/],
])('refuses the field %j when it is configured', (spec, message) => {
  expect(() => parseFields({ answer: spec })).toThrow(message);
});
