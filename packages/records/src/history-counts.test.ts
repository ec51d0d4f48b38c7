import type { TrackerStats } from '@agentjet/context-tracker';
import { expect, it } from 'vitest';
import { countHistories } from './history-counts.js';

const nothing: TrackerStats = {
  calls: 1,
  generatedTokens: 1,
  trainedTokens: 1,
  samples: 1,
  forks: {},
  splices: {},
  foreignMessages: {},
  specialTokens: {},
};

it('forks, splices and foreign messages are counted in all, and by agent and cause', () => {
  const episodes = [
    {
      stats: {
        ...nothing,
        forks: { a: { template: 2, tools: 1 }, b: { template: 1 } },
        splices: { a: { call_ids: 3 } },
      },
    },
    { stats: { ...nothing, forks: { a: { template: 1 } } } },
  ];
  expect(countHistories(episodes.map((episode) => ({ ...episode, ignoredParameters: {} })))).toEqual({
    forks: 5,
    'forks/a/template': 3,
    'forks/a/tools': 1,
    'forks/b/template': 1,
    splices: 3,
    'splices/a/call_ids': 3,
    foreign_messages: 0,
  });
  expect(countHistories([])).toEqual({ forks: 0, splices: 0, foreign_messages: 0 });
});

it('failed calls that no episode failed with are counted in all and by agent, if there are any', () => {
  const swallowedErrors = [
    { agentName: 'a', code: 'failed', message: 'x', times: 2 },
    { agentName: 'b', code: 'failed', message: 'x', times: 1 },
  ];
  const episode = { stats: nothing, ignoredParameters: {} };
  expect(countHistories([{ ...episode, swallowedErrors }, episode, { ...episode, swallowedErrors }])).toMatchObject({
    swallowed_errors: 6,
    'swallowed_errors/a': 4,
    'swallowed_errors/b': 2,
  });
});
