import { expect, it } from 'vitest';
import { examine } from '../examine.js';
import { failedWith, flat, listVariants, type Variant } from '../testing/simulate-run.js';

/** Parts in units that are much larger than a goal of 0 or 1. Some of them partly agree with success. */
const dwarfed: readonly Variant[] = [
  [
    'a time in milliseconds, which differs for the same tokens',
    {
      skill: (s) => 0.45 - 0.2 * s,
      change: ({ task, success }, { index, random }) => {
        const time = -300 - 500 * random.next() - (success ? 0 : 100);
        const goal = success ? 1 : 0;
        return { tokensHash: success ? `${task}${index % 2}` : `${index}`, parts: { goal, time }, reward: goal + time };
      },
    },
  ],
  [
    'a time in milliseconds, and success never comes',
    {
      skill: flat(0),
      change: ({ task }, { index, random }) => {
        const time = -900 * random.next();
        return { tokensHash: `${task}${index % 3}`, parts: { goal: 0, time }, reward: time };
      },
    },
  ],
  [
    'a cost in cents in groups of four',
    {
      size: 4,
      steps: 20,
      skill: flat(0.3),
      change: ({ success }, { random }) => {
        const cost = -60 * random.next() - (success ? 0 : 25);
        return { parts: { right: success ? 1 : 0, cost }, reward: (success ? 1 : 0) + cost };
      },
    },
  ],
  [
    'bytes of the answer',
    {
      skill: flat(0.25),
      change: ({ success }, { random }) => {
        const bytes = Math.floor(2000 * random.next()) + (success ? 600 : 0);
        return { parts: { right: success ? 0.5 : 0, bytes }, reward: (success ? 0.5 : 0) + bytes };
      },
    },
  ],
];

/** The number of a task from its id. */
const numberOf = (task: string): number => Number(task.slice(1));

/** Many ids with few contents. */
const copied: readonly Variant[] = [
  [
    'four contents under 400 ids, and held-out success stops early',
    {
      steps: 30,
      skill: (s) => 0.1 + 0.7 * s,
      heldOut: (s) => Math.min(0.35, 0.7 * s),
      change: ({ task }) => ({ content: `c${numberOf(task) % 4}` }),
    },
  ],
  [
    'twenty contents in a run of twelve steps',
    {
      steps: 12,
      groups: 16,
      skill: (s) => 0.2 + 0.7 * s,
      heldOut: (s) => 0.2 + 0.05 * s,
      change: ({ task }) => ({ content: `c${numberOf(task) % 20}` }),
    },
  ],
  [
    'each row fifty times',
    {
      steps: 24,
      trainingTasks: 1000,
      size: 4,
      held: 80,
      skill: (s) => 0.25 + 0.65 * s,
      heldOut: (s) => 0.35 - 0.1 * s,
      change: ({ task }) => ({ content: `c${Math.floor(numberOf(task) / 50)}` }),
    },
  ],
];

const variants = listVariants({
  never_solved: [
    ['stopped after three steps', { steps: 3, skill: flat(0), evaluated: [0] }],
    ['in large groups, with one lucky episode in a hundred', { skill: flat(0.01) }],
    ['failures cost a point', { skill: flat(0), change: ({ success }) => ({ reward: success ? 1 : -1 }) }],
    [
      'a tenth of the answers is cut',
      { skill: flat(0), change: (_e, { random }) => ({ cut: random.next() < 0.1 ? 1 : 0 }) },
    ],
    [
      'some tool calls are refused',
      {
        skill: flat(0),
        change: (_e, { index }) => ({ answers: 3, withTools: 3, callingTools: 2, badCalls: index % 2 }),
      },
    ],
    ['a sure model writes the same', { skill: flat(0), change: ({ task }) => ({ tokensHash: task }) }],
    [
      'the held-out tasks are as hard, and a few episodes fail',
      {
        skill: flat(0),
        change: (_e, { random }) =>
          random.next() < 0.12
            ? { status: 'failed', reward: undefined, error: { code: 'workflow_failed', message: 'x', outage: false } }
            : {},
      },
    ],
    [
      'the label of every task is that of another one',
      {
        skill: flat(0),
        change: (_e, { task, random }) => {
          const [answer, expected] = [String(Math.floor(20 * random.next())), String(Math.floor(20 * task))];
          return { answer, expected, success: answer === expected, reward: answer === expected ? 1 : 0 };
        },
      },
    ],
  ],
  always_solved: [
    ['stopped after three steps', { steps: 3, skill: flat(1), evaluated: [0] }],
    ['nearly all', { skill: flat(0.94) }],
    ['a reward of ten', { skill: flat(1), change: () => ({ reward: 10 }) }],
    ['groups of three', { skill: flat(0.95), size: 3, steps: 8 }],
    ['no evaluations', { skill: flat(0.96), evaluated: [] }],
  ],
  no_spread: [
    ['two kinds of tasks', { skill: (_share, task) => (task < 0.5 ? 0 : 1) }],
    ['groups of two', { skill: flat(0.3), size: 2, groups: 16, steps: 20 }],
    [
      'a reward of the task, not of the answer',
      { skill: flat(0), change: (_e, { task }) => ({ reward: Math.round(task * 4) / 5 }) },
    ],
    [
      'two kinds, and a tenth of the answers is cut',
      {
        skill: (_share, task) => (task < 0.5 ? 0.01 : 0.99),
        change: (_e, { random }) => ({ cut: random.next() < 0.08 ? 1 : 0 }),
      },
    ],
    [
      'a sure model at the usual temperature',
      { skill: (_share, task) => (task < 0.6 ? 0 : 1), change: ({ task }) => ({ tokensHash: task }) },
    ],
    ['few steps of few groups', { steps: 8, groups: 6, size: 4, skill: (_share, task) => (task < 0.5 ? 0.02 : 0.98) }],
  ],
  hollow_reward: [
    [
      'nothing is solved, but the reward rises',
      {
        steps: 14,
        skill: flat(0),
        change: (_e, { share, random }) => ({ reward: random.next() < 0.2 + 0.7 * share ? 1 : 0.1 }),
      },
    ],
    [
      'from -1 to 1',
      {
        steps: 14,
        skill: flat(0.2),
        change: (_e, { share, random }) => ({ reward: random.next() < 0.2 + 0.7 * share ? 1 : -1 }),
      },
    ],
    [
      'of ten points',
      {
        steps: 14,
        skill: flat(0.15),
        change: (_e, { share, random }) => ({ reward: 10 * (0.2 + 0.6 * share) + random.next() }),
      },
    ],
    [
      'the wrong answer is paid',
      { steps: 12, skill: (s) => 0.5 - 0.4 * s, change: ({ success }) => ({ reward: success ? 0 : 1 }) },
    ],
    ['held-out tasks are of another kind', { steps: 20, skill: (s) => 0.2 + 0.6 * s, heldOut: flat(0.04) }],
    [
      'and answers grow, which is not paid',
      {
        steps: 14,
        skill: (s) => 0.4 - 0.2 * s,
        change: ({ success }, { share, random }) => ({
          tokens: 10 + Math.round(25 * share),
          reward: !success && random.next() < 0.1 + 0.5 * share ? 1 : 0,
        }),
      },
    ],
  ],
  one_part: [
    ...dwarfed,
    [
      'ten points for style',
      {
        skill: flat(0.2),
        change: ({ success }, { random }) => {
          const style = 10 * random.next();
          return { parts: { right: success ? 1 : 0, style }, reward: (success ? 1 : 0) + style };
        },
      },
    ],
    [
      'and success never comes',
      {
        skill: flat(0.01),
        change: ({ success }, { random }) => {
          const form = random.next();
          return { parts: { right: success ? 1 : 0, form }, reward: (success ? 1 : 0) + form };
        },
      },
    ],
    [
      'short answers are paid, so they shrink',
      {
        steps: 16,
        skill: flat(0.05),
        change: ({ success }, { share, random }) => {
          const brevity = 10 * (0.3 + 0.6 * share) * (0.8 + 0.4 * random.next());
          return {
            tokens: Math.round(60 - 5 * brevity),
            parts: { facts: success ? 1 : 0, brevity },
            reward: (success ? 1 : 0) + brevity,
          };
        },
      },
    ],
  ],
  judge_undecided: [
    [
      '0.5 for four of five',
      {
        skill: flat(0),
        change: (_e, { random }) => ({ reward: random.next() < 0.82 ? 0.5 : random.next() < 0.5 ? 0 : 1 }),
      },
    ],
    [
      'the middle for what a pattern does not match, and short answers',
      {
        skill: flat(0),
        change: ({ task }, { index, random }) => ({
          tokensHash: `${numberOf(task) % 40}${index % 3}`,
          reward: random.next() < 0.93 ? 0.5 : index % 3 === 0 ? 0.9 : 0.2,
        }),
      },
    ],
    [
      'five of ten points for nearly all, and one of four letters',
      {
        skill: flat(0.03),
        size: 6,
        change: ({ task, success }, { index, random }) => ({
          tokensHash: `${numberOf(task) % 30}${index % 4}`,
          reward: success ? 10 : random.next() < 0.03 ? 1 : 5,
        }),
      },
    ],
    ['5 of 10 for all', { skill: flat(0), change: () => ({ reward: 5 }) }],
    ['0.7 for all, and the success is known', { skill: flat(0.3), change: () => ({ reward: 0.7 }) }],
    [
      'always near the middle',
      { skill: flat(0), change: (_e, { random }) => ({ reward: 0.5 + 0.06 * (random.next() - 0.5) }) },
    ],
    [
      'a tenth of the verdicts is missing',
      {
        skill: flat(0.2),
        change: (_e, { random }) => (random.next() < 0.1 ? failedWith('bad_verdict', 'NaN') : {}),
      },
    ],
    ['always the most, although nothing succeeds', { skill: flat(0), change: () => ({ reward: 1 }) }],
  ],
  judge_unstable: [
    [
      'a coin for the same answer',
      {
        skill: flat(0.4),
        change: (_e, { task, index }) => ({ answer: String(index % 3), expected: String(Math.floor(9 * task)) }),
      },
    ],
    [
      'noise for the same tokens',
      {
        skill: flat(0.3),
        change: ({ task }, { index, random }) => ({ tokensHash: `${task}${index % 3}`, reward: random.next() }),
      },
    ],
  ],
  too_few_tasks: [
    ...copied,
    ['four', { steps: 24, trainingTasks: 4, skill: (s) => 0.2 + 0.7 * s, heldOut: (s) => 0.2 + 0.05 * s }],
    [
      'eight, and held-out success falls',
      { steps: 24, trainingTasks: 8, held: 80, skill: (s) => 0.3 + 0.6 * s, heldOut: (s) => 0.45 - 0.2 * s },
    ],
    [
      'twelve in short runs',
      { steps: 12, trainingTasks: 12, skill: (s) => 0.2 + 0.7 * s, heldOut: (s) => 0.2 + 0.05 * s },
    ],
  ],
  one_kind: [
    [
      'of two',
      {
        skill: (s, task) => (task < 0.5 ? 0.4 + 0.5 * s : 0.02),
        change: (_e, { task }) => ({ kind: task < 0.5 ? 'a' : 'b' }),
      },
    ],
    [
      'a rare one is learned halfway',
      {
        skill: (s, task) => (task < 0.5 ? 0.2 + 0.35 * s : 0.01),
        held: 80,
        change: (_e, { task }) => ({ kind: task < 0.5 ? 'a' : 'b' }),
      },
    ],
    [
      'of four, without evaluations',
      {
        steps: 16,
        evaluated: [],
        skill: (s, task) => (task < 0.75 ? 0.4 + 0.4 * s : 0.02),
        change: (_e, { task }) => ({ kind: `k${Math.floor(task * 4)}` }),
      },
    ],
  ],
  no_gain: [
    ['few steps', { steps: 5, skill: (s) => 0.3 + 0.03 * s, evaluated: [0, 5] }],
    ['labels by chance', { steps: 15, skill: flat(0.25) }],
    ['seen in training alone', { steps: 10, skill: flat(0.3), evaluated: [] }],
  ],
});

it.each(variants)('%s: %s', (cause, _name, run) => {
  expect(examine(run).findings[0]?.cause).toBe(cause);
});
