import { expect, it } from 'vitest';
import { describeUntrained } from './untrained-facts.js';

const call = (agent: string, content: string, more: object = {}) => ({
  agent_name: agent,
  model: 'gpt',
  repeated_messages: 0,
  messages: [{ role: 'user', content }],
  answer: { role: 'assistant', content: `re: ${content}` },
  began_ms: 100,
  ended_ms: 1100,
  ...more,
});

it('says of each agent that does not learn what it was asked and answered', () => {
  const record = {
    untrained_calls: [call('writer', 'one'), call('critic', 'two', { answer: null, error: 'no credit' })],
  };
  expect(describeUntrained(record)).toEqual([
    ['not trained', 'writer: 1 call to gpt, 1.0 s; critic: 1 call to gpt, 1.0 s'],
    ['writer | user', 'one'],
    ['writer > answer', 're: one'],
    ['critic | user', 'two'],
    ['critic > answer', 'error: no credit'],
  ]);
});

it('says nothing of a record without such calls, and does not break on a broken one', () => {
  expect(describeUntrained({})).toEqual([]);
  expect(describeUntrained({ untrained_calls: 'x' })).toEqual([]);
  expect(describeUntrained({ untrained_calls: [{}] })).toHaveLength(2);
});
