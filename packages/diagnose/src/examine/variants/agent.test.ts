import { expect, it } from 'vitest';
import { examine } from '../examine.js';
import { failedWith, flat, learning, listVariants } from '../testing/simulate-run.js';

const variants = listVariants({
  cut_answers: [
    [
      'and then the history does not fit into the context',
      {
        skill: flat(0.1),
        change: ({ success }, { random }) => {
          if (success) return { answers: 3 };
          if (random.next() < 0.4) return { answers: 4, cut: 1 };
          const error = { code: 'context_overflow', message: 'The prompt has 600 tokens', outage: false };
          return { status: 'failed', reward: undefined, error };
        },
      },
    ],
    ['all answers', { skill: flat(0), steps: 3, evaluated: [0], change: () => ({ cut: 1, tokens: 8 }) }],
    [
      'two thirds of the answers, and equal rewards',
      { skill: (_s, task) => (task < 0.6 ? 0 : 1), change: ({ success }) => ({ cut: success ? 0 : 1, tokens: 8 }) },
    ],
    [
      'the last turn of several',
      { skill: flat(0.05), change: ({ success }) => ({ answers: 4, cut: success ? 0 : 1 }) },
    ],
    [
      'and the texts of a short limit are equal',
      { skill: flat(0.3), change: ({ task, success }) => (success ? {} : { cut: 1, tokensHash: task }) },
    ],
    [
      'with an answer that cannot be read',
      { skill: flat(0.1), change: ({ success }) => ({ answer: success ? 'x' : '', cut: success ? 0 : 1 }) },
    ],
  ],
  format_not_met: [
    [
      'the right answer in a sentence',
      {
        skill: flat(0),
        change: (_e, { task, random }) => ({
          expected: String(Math.floor(900 * task) + 57),
          answer: `It is ${random.next() < 0.35 ? Math.floor(900 * task) + 57 : 31}.`,
        }),
      },
    ],
    [
      'the right number with digits after the point',
      {
        skill: flat(0),
        change: (_e, { task }) => ({
          expected: String(Math.floor(900 * task) + 57),
          answer: `${Math.floor(900 * task) + 57}.0`,
        }),
      },
    ],
    [
      'the right word in capitals',
      {
        skill: flat(0),
        change: (_e, { task }) => ({ expected: `w${Math.floor(900 * task)}`, answer: `W${Math.floor(900 * task)}` }),
      },
    ],
    [
      'one of the right words, in small letters',
      {
        skill: flat(0),
        change: (_e, { task, index }) => ({
          expected: JSON.stringify([`W${Math.floor(900 * task)}`, 'X']),
          answer: index % 3 === 0 ? `w${Math.floor(900 * task)}` : 'v',
        }),
      },
    ],
    [
      'no answer found',
      { skill: flat(0.05), change: ({ success }) => (success ? { answer: '5', expected: '5' } : { answer: '' }) },
    ],
    [
      'the judge says so',
      { skill: flat(0.02), change: (_e, { index }) => ({ answer: 'a', reason: `No <answer> tag in "${index}"` }) },
    ],
    [
      'a number with commas',
      {
        skill: flat(0),
        change: (_e, { task }) => ({
          expected: String(Math.floor(9000 * task) + 1057),
          answer: (Math.floor(9000 * task) + 1057).toLocaleString('en-US'),
        }),
      },
    ],
  ],
  tools_not_called: [
    ['no call at all', { skill: flat(0), steps: 3, evaluated: [0], change: () => ({ withTools: 1 }) }],
    ['guesses right sometimes', { skill: flat(0.2), change: () => ({ withTools: 1 }) }],
    ['and the same words each time', { skill: flat(0), change: ({ task }) => ({ withTools: 1, tokensHash: task }) }],
  ],
  tools_refused: [
    [
      'each call',
      {
        skill: flat(0),
        steps: 3,
        evaluated: [0],
        change: () => ({ answers: 4, withTools: 4, callingTools: 3, badCalls: 3, toolResults: 3, toolErrors: 3 }),
      },
    ],
    [
      'half of the calls',
      {
        skill: flat(0.1),
        change: (_e, { index }) => ({ answers: 3, withTools: 3, callingTools: 2, badCalls: index % 2 ? 2 : 0 }),
      },
    ],
  ],
  template_forks: [
    [
      'a run that hardly learns',
      { skill: (s) => 0.3 + 0.1 * s, change: () => ({ answers: 4, forks: { template: 3 } }) },
    ],
    ['a run that never solves', { skill: flat(0), change: () => ({ answers: 4, forks: { template: 3 } }) }],
    ['a run that learns', { skill: learning, change: () => ({ answers: 3, forks: { template: 2 } }) }],
  ],
  outages: [
    [
      'one attempt in ten',
      {
        skill: flat(0.25),
        change: (_e, { random }) => (random.next() < 0.1 ? failedWith('outage', 'gone', true) : {}),
      },
    ],
    ['and most groups are equal', { skill: (_s, task) => (task < 0.5 ? 0 : 1), figures: { outages: flat(0.12) } }],
    [
      'during a part of the run',
      { skill: flat(0.25), steps: 20, figures: { outages: (s) => (s > 0.3 && s < 0.6 ? 0.4 : 0) } },
    ],
    ['one attempt in fourteen', { skill: flat(0.25), figures: { judge_outages: flat(0.07), outages: flat(0) } }],
  ],
  failed_episodes: [
    [
      'one of eight',
      {
        skill: flat(0.25),
        change: (_e, { index }) => (index === 0 ? failedWith('workflow_failed', 'TypeError') : {}),
      },
    ],
    [
      'most',
      {
        skill: flat(0.02),
        change: (_e, { random }) => (random.next() < 0.6 ? failedWith('timeout', 'late') : {}),
      },
    ],
    [
      'one of fifteen',
      {
        skill: flat(0.25),
        change: (_e, { random }) => (random.next() < 0.067 ? failedWith('workflow_failed', 'TypeError') : {}),
      },
    ],
  ],
  swallowed_errors: [
    [
      'a tool begins to fail after half of the run, and success falls',
      {
        steps: 24,
        held: 60,
        evaluated: [0, 6, 12, 18, 24],
        skill: (s) => (s < 0.5 ? 0.2 + 1.2 * s : 0.42),
        change: (_e, { share, index }) => ({
          answers: 2,
          withTools: 2,
          callingTools: 1,
          toolResults: 1,
          toolErrors: index % 8 < (share < 0.5 ? 1 : 4) ? 1 : 0,
        }),
      },
    ],
    [
      'each tool result',
      {
        skill: flat(0),
        steps: 3,
        evaluated: [0],
        change: () => ({ answers: 2, withTools: 2, callingTools: 1, toolResults: 1, toolErrors: 1 }),
      },
    ],
    [
      'every third result',
      {
        skill: flat(0.3),
        change: (_e, { random }) => ({
          answers: 2,
          withTools: 2,
          callingTools: 1,
          toolResults: 1,
          toolErrors: random.next() < 0.34 ? 1 : 0,
        }),
      },
    ],
    [
      'a failed call in one of ten episodes',
      { skill: flat(0.25), change: (_e, { random }) => ({ swallowed: random.next() < 0.1 ? 1 : 0 }) },
    ],
  ],
  stragglers: [
    [
      'one of eight takes twelve times as long',
      { skill: learning, change: (_e, { index }) => ({ seconds: index === 0 ? 6 : 0.5 }) },
    ],
    [
      'one of thirty',
      {
        skill: (s) => 0.3 + 0.1 * s,
        change: (_e, { random }) => ({ seconds: random.next() < 0.035 ? 6 : 0.4 + 0.2 * random.next() }),
      },
    ],
    ['a fifth of them', { skill: flat(0.3), change: (_e, { random }) => ({ seconds: random.next() < 0.2 ? 5 : 0.3 }) }],
    [
      'in steps of six',
      {
        skill: flat(0.3),
        groups: 2,
        size: 3,
        change: (_e, { random, index }) => ({ seconds: index === 0 && random.next() < 0.5 ? 2 : 0.2 }),
      },
    ],
  ],
  length_drift: [
    [
      'paid by the token',
      {
        steps: 16,
        skill: flat(0.2),
        change: (_e, { share, random }) => {
          const tokens = Math.round((20 + 100 * share) * (0.7 + 0.6 * random.next()));
          return { tokens, reward: tokens / 100 };
        },
      },
    ],
    [
      'answers shrink',
      {
        steps: 16,
        skill: (s) => 0.25 - 0.1 * s,
        change: ({ success }, { share, random }) => {
          const tokens = Math.round((60 - 50 * share) * (0.7 + 0.6 * random.next()));
          return { tokens, reward: (success ? 0.2 : 0) + 1 - tokens / 60 };
        },
      },
    ],
    [
      'a little less than twice as long',
      {
        steps: 16,
        skill: flat(0.2),
        change: ({ success }, { share, random }) => {
          const tokens = Math.round((30 + 24 * share) * (0.8 + 0.4 * random.next()));
          return { tokens, reward: (success ? 0.2 : 0) + tokens / 60 };
        },
      },
    ],
  ],
});

it.each(variants)('%s: %s', (cause, _name, run) => {
  expect(examine(run).findings[0]?.cause).toBe(cause);
});
