import { describe, expect, it } from 'vitest';
import { examine } from '../examine.js';
import { learning, simulateRun, type Variant } from '../testing/simulate-run.js';

const healthy: readonly Variant[] = [
  ['learns', { skill: learning }],
  ['learns fast and stays', { steps: 24, skill: (s) => Math.min(0.7, 0.2 + 1.5 * s) }],
  ['learns from nearly nothing', { steps: 20, skill: (s) => 0.02 + 0.45 * s }],
  ['learns slowly', { steps: 40, groups: 4, size: 6, skill: (s) => 0.1 + 0.35 * s }],
  ['is evaluated at the start and the end', { skill: learning, evaluated: [0, 12] }],
  ['is paid from -1 to 1', { skill: learning, change: ({ success }) => ({ reward: success ? 1 : -1 }) }],
  [
    'is paid up to ten points for parts of a success',
    {
      skill: learning,
      change: ({ success }, { share, random }) => ({
        reward: success ? 10 : Math.floor(6 * random.next() * (0.5 + 0.5 * share)),
      }),
    },
  ],
  [
    'earns parts long before its first success',
    {
      steps: 20,
      skill: (s) => Math.max(0, 0.6 * (s - 0.4)),
      change: ({ success }, { share, random }) => ({ reward: success ? 1 : 0.8 * random.next() * (0.3 + 0.7 * share) }),
    },
  ],
  [
    'writes shorter answers',
    {
      steps: 16,
      skill: learning,
      change: (_e, { share, random }) => ({ tokens: Math.round((60 - 40 * share) * (0.7 + 0.6 * random.next())) }),
    },
  ],
  [
    'writes longer answers',
    {
      steps: 16,
      skill: learning,
      change: (_e, { share, random }) => ({ tokens: Math.round((20 + 60 * share) * (0.7 + 0.6 * random.next())) }),
    },
  ],
  ['is hotter in training than in evaluations', { skill: (s) => 0.15 + 0.3 * s, heldOut: (s) => 0.35 + 0.35 * s }],
  [
    'has two kinds, of which one is behind',
    {
      skill: (s, task) => (task < 0.5 ? 0.3 + 0.5 * s : 0.1 + 0.35 * s),
      held: 80,
      change: (_e, { task }) => ({ kind: task < 0.5 ? 'a' : 'b' }),
    },
  ],
  [
    'uses tools, of which some answer with errors',
    {
      skill: learning,
      change: (_e, { share, random }) => ({
        answers: 3,
        withTools: 3,
        callingTools: 2,
        toolResults: 2,
        toolErrors: random.next() < 0.5 - 0.3 * share ? 1 : 0,
        badCalls: random.next() < 0.3 - 0.2 * share ? 1 : 0,
      }),
    },
  ],
  [
    'has several agents and long tails',
    {
      skill: learning,
      change: (_e, { random }) => ({
        answers: 6,
        seconds: random.next() < 0.05 ? 9 : 1 + 2 * random.next(),
        forks: { rewritten: 2 },
      }),
    },
  ],
  ['has few tasks that are enough', { steps: 20, trainingTasks: 24, skill: learning, heldOut: (s) => 0.2 + 0.4 * s }],
  [
    'answers with one of four words, and gets points for half of the way',
    {
      skill: learning,
      change: ({ task, success }, { index, random }) => ({
        tokensHash: `${task}${success ? 0 : 1 + (index % 3)}`,
        reward: success ? 1 : random.next() < 0.8 ? 0.5 : 0,
      }),
    },
  ],
  [
    'gets half of the points nearly always, and its first successes',
    {
      steps: 20,
      skill: (s) => 0.01 + 0.3 * s,
      change: ({ task, success }, { index, random }) => ({
        tokensHash: `${task}${success ? 0 : 1 + (index % 3)}`,
        reward: success ? 1 : random.next() < 0.97 ? 0.5 : 0,
      }),
    },
  ],
  [
    'fills the limit of its answers',
    {
      skill: (s) => 0.02 + 0.75 * s,
      change: (_e, { share }) => ({ cut: share > 0.4 ? 1 : 0, tokens: 4 + 12 * share }),
    },
  ],
  [
    'is cut in each answer, which says what counts at its beginning',
    { skill: learning, held: 80, change: () => ({ cut: 1, tokens: 16 }) },
  ],
  [
    'has each task twice, and learns all',
    {
      steps: 24,
      skill: learning,
      heldOut: (s) => 0.2 + 0.4 * s,
      change: ({ task }) => ({ content: `c${Math.floor(Number(task.slice(1)) / 2)}` }),
    },
  ],
  [
    'has few contents that are enough',
    { steps: 24, skill: learning, change: ({ task }) => ({ content: `c${Number(task.slice(1)) % 24}` }) },
  ],
  [
    'asks the same question for tasks that only their ids tell apart',
    { steps: 24, skill: learning, heldOut: (s) => 0.2 + 0.3 * s, change: () => ({ content: 'Solve it.' }) },
  ],
  [
    'has rare large rewards for its first successes',
    {
      steps: 20,
      skill: (s) => 0.03 + 0.6 * s,
      change: ({ success }, { random }) => ({ reward: success ? 100 : random.next() }),
    },
  ],
  [
    'has a part of a large scale, which agrees with success',
    {
      skill: learning,
      change: ({ success }, { random }) => {
        const speed = 100 * random.next() + (success ? 60 : 0);
        return { parts: { goal: success ? 1 : 0, speed }, reward: (success ? 1 : 0) + speed };
      },
    },
  ],
  [
    'learns, and then gives the best of its answers each time',
    {
      steps: 20,
      held: 80,
      skill: (s, task) => (s < 0.4 ? 0.1 * Number(task < 0.5) + 0.4 * s : Number(task < 0.5)),
      heldOut: (s, task) => (s < 0.4 ? 0.05 : Number(task < 0.5)),
      entropy: (s) => 0.6 * Math.exp(-9 * s),
      change: ({ task, id }, { share }) => ({ tokensHash: share < 0.4 ? id : task }),
    },
  ],
  [
    'learns one answer that is right for a third of its tasks',
    {
      steps: 18,
      groups: 10,
      size: 7,
      held: 60,
      skill: (s, task) => (s < 0.35 ? 0.02 + 0.1 * s : Number(task < 0.3)),
      heldOut: (s, task) => (s < 0.35 ? 0 : Number(task < 0.3)),
      entropy: (s) => (s < 0.35 ? 0.5 : 0.01),
      change: ({ task, id }, { share }) => ({ tokensHash: share < 0.35 ? id : task }),
    },
  ],
  [
    'answers with the expected words in a sentence',
    {
      skill: learning,
      change: ({ success }, { task, random }) => ({
        expected: String(Math.floor(900 * task) + 57),
        answer: `So it is ${success ? Math.floor(900 * task) + 57 : Math.floor(900 * random.next())}.`,
      }),
    },
  ],
];

describe('a run that learns', () => {
  it.each(healthy)('%s: no finding asks for a change', (_name, spec) => {
    expect(examine(simulateRun(spec)).findings.filter(({ asks }) => asks === 'change')).toEqual([]);
  });
});
