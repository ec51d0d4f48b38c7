import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { toTools } from './agent.js';
import { type FunctionDoc, isRightCall } from './check-call.js';
import { type ChoiceTask, splitOf } from './functions.js';
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
  const { messages } = transcriptOf('Rain?', { kind: 'irrelevance', functions: [weather], gold: null }) as {
    readonly messages: readonly object[];
  };
  expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'No function fits this question.' });
});

it('names types as JSON Schema does', () => {
  expect(JSON.stringify(toTools([weather]))).toMatch(/"limit":{"type":"number"}.*"options":{"type":"object"}/);
});

it('puts a function on one side, half of them in evaluation', () => {
  const splits = Array.from({ length: 400 }, (_none, at) => splitOf(`function_${at}`));
  const share = splits.filter((split) => split === 'evaluation').length / 400;
  expect(share).toBeGreaterThan(0.4);
  expect(share).toBeLessThan(0.6);
  expect(splitOf('math.gcd')).toBe(splitOf('math.gcd'));
});
