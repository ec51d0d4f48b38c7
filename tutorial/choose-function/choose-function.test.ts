import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { toTools } from './agent.js';
import { type FunctionDoc, isRightCall } from './check-call.js';
import { type ChoiceTask, type Split, splitOf, tasksOf } from './functions.js';
import { chooseFunction } from './workflow.js';
import { goldAnswer, transcriptOf } from './write-transcripts.js';

const weather: FunctionDoc = {
  name: 'weather.get',
  parameters: {
    properties: {
      city: { type: 'string' },
      days: { type: 'integer' },
      limit: { type: 'float' },
      hours: { type: 'array', items: { type: 'integer' } },
      options: { type: 'dict' },
    },
    required: ['city', 'days'],
  },
};
const gold =
  '{"weather.get": {"city": ["New York, NY", "NYC"], "days": [3], "limit": [2.5, ""], "hours": [[8, 12], ""], "options": [{"unit": ["C", ""]}, ""]}}';

const isRight = (json: string, name = 'weather.get'): boolean =>
  isRightCall({ name, arguments: json }, [weather], gold);

describe('the check', () => {
  it.each([
    '{"city": "nyc", "days": 3}',
    '{"city": "new york ny", "days": 3, "limit": 2.5}',
    '{"city": "NYC", "days": 3, "hours": [8, 12]}',
    '{"city": "NYC", "days": 3, "options": {"unit": "c"}}',
    '{"city": "NYC", "days": 3, "options": {}}',
  ])('accepts %s', (json) => {
    expect(isRight(json)).toBe(true);
  });

  it.each([
    ['another city', '{"city": "Boston", "days": 3}'],
    ['a missing argument', '{"city": "NYC"}'],
    ['a number with a point where an integer is due', '{"city": "NYC", "days": 3.0}'],
    ['a number in quotes', '{"city": "NYC", "days": "3"}'],
    ['an unknown argument', '{"city": "NYC", "days": 3, "unit": "C"}'],
    ['another order', '{"city": "NYC", "days": 3, "hours": [12, 8]}'],
    ['an unknown key', '{"city": "NYC", "days": 3, "options": {"toString": 1}}'],
    ['a name that every object has', '{"city": "NYC", "days": 3, "constructor": 1}'],
    ['a list of arguments', '["NYC", 3]'],
    ['broken JSON', '{"city": "NYC", "days": 3'],
  ])('refuses %s', (_what, json) => {
    expect(isRight(json)).toBe(false);
  });

  it('refuses another function', () => {
    expect(isRight('{"city": "NYC", "days": 3}', 'weather_get')).toBe(false);
  });
});

describe('an episode', () => {
  const taskOf = (metadata: ChoiceTask) => ({ taskId: 'a', mainQuery: 'Rain?', initMessages: [], metadata });
  const call = '<tool_call>\n{"name": "weather.get", "arguments": {"city": "NYC", "days": 3}}\n</tool_call>';

  async function play(metadata: ChoiceTask, reply: string) {
    const { tuner } = openScriptedEpisode({ replies: [reply] });
    return chooseFunction(taskOf(metadata), tuner);
  }

  it.each([
    ['the right call', gold, call, 1],
    ['a sentence', gold, 'I do not know.', 0],
    ['two calls', gold, `${call}\n${call}`, 0],
    ['a call without a fitting function', null, call, 0],
    ['a sentence without a fitting function', null, 'No function fits.', 1],
  ])('with %s', async (_what, goldCall, reply, reward) => {
    const kind = goldCall === null ? 'irrelevance' : 'simple';
    expect(await play({ kind, functions: [weather], gold: goldCall }, reply)).toMatchObject({ reward });
  });
});

it('imitates calls that the check accepts, and sentences if no function fits', () => {
  const answer = goldAnswer(gold);
  expect(answer).toEqual({ name: 'weather.get', arguments: '{"city":"New York, NY","days":3}' });
  expect(isRightCall(answer, [weather], gold)).toBe(true);
  const metadata = { kind: 'irrelevance', functions: [weather], gold: null } as const;
  const { messages } = transcriptOf({ taskId: 'a', mainQuery: 'Rain?', initMessages: [], metadata }) as {
    readonly messages: readonly { readonly role: string; readonly weight?: number }[];
  };
  expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'No function fits this question.' });
  const shown = messages.slice(0, -1).filter(({ role }) => role === 'assistant');
  expect(shown.map(({ weight }) => weight)).toEqual([0, 0]);
});

it('writes a call for models without tags as they write it, and keeps what is in quotes', () => {
  const accepted = JSON.stringify({ 'weather.get': { city: ['a: b, "c"'], days: [3], hours: [[8, 12]] } });
  const metadata = { kind: 'simple', functions: [weather], gold: accepted } as const;
  const task = { taskId: 'a', mainQuery: 'Rain?', initMessages: [], metadata };
  const { messages } = transcriptOf(task, 'bare JSON') as { readonly messages: readonly object[] };
  expect(messages.at(-1)).toEqual({
    role: 'assistant',
    content: '{"name": "weather.get", "arguments": {"city": "a: b, \\"c\\"", "days": 3, "hours": [8, 12]}}',
  });
});

it('names types as JSON Schema does', () => {
  expect(JSON.stringify(toTools([weather]))).toMatch(/"limit":{"type":"number"}.*"options":{"type":"object"}/);
});

const names = Array.from({ length: 400 }, (_none, at) => `function_${at}`);

it('puts a function on one side, half of them in the imitation and a quarter in the evaluation', () => {
  const shareOf = (split: Split): number => names.filter((name) => splitOf(name) === split).length / names.length;
  expect(shareOf('imitation')).toBeCloseTo(0.5, 1);
  expect(shareOf('evaluation')).toBeCloseTo(0.25, 1);
  expect(splitOf('math.gcd')).toBe(splitOf('math.gcd'));
});

it('trains no question that shows a function of the evaluation', () => {
  const nameIn = (split: Split): string => names.find((name) => splitOf(name) === split) ?? '';
  const taskOf = (taskId: string, shown: readonly string[]) => ({
    taskId,
    mainQuery: 'Rain?',
    initMessages: [],
    metadata: {
      kind: 'multiple' as const,
      functions: shown.map((name) => ({ ...weather, name })),
      gold: JSON.stringify({ [shown[0] ?? '']: {} }),
    },
  });
  const [imitated, heldOut] = [nameIn('imitation'), nameIn('evaluation')];
  const tasks = [
    taskOf('plain', [imitated]),
    taskOf('leaky', [imitated, heldOut]),
    taskOf('held out', [heldOut, imitated]),
  ];
  expect(tasksOf('imitation', tasks).map(({ taskId }) => taskId)).toEqual(['plain']);
  expect(tasksOf('evaluation', tasks).map(({ taskId }) => taskId)).toEqual(['held out']);
});
