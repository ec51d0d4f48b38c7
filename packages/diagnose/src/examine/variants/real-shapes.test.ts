import { expect, it } from 'vitest';
import { examine } from '../examine.js';
import { flat, learning, listVariants, simulateRun } from '../testing/simulate-run.js';

/** Shapes of runs of small models. Another finding used to be the first one in each. */
const variants = listVariants({
  hollow_reward: [
    [
      'and one-word answers hardly change',
      {
        steps: 14,
        groups: 6,
        size: 6,
        skill: flat(0.5),
        heldOut: (_s, task) => (task < 0.5 ? 1 : 0),
        change: ({ phase, task, success, id }, { random }) => ({
          tokens: 2,
          tokensHash: phase === 'evaluation' ? task : id,
          reward: success ? 10 : random.next() < 0.6 ? 100 : 0,
        }),
      },
    ],
  ],
  one_kind: [
    [
      'and answers grow, which nothing pays for',
      {
        steps: 14,
        skill: (_s, task) => (task < 0.6 ? 0.75 : 0.01),
        held: 90,
        change: (_e, { task, share }) => ({ kind: task < 0.6 ? 'a' : 'b', tokens: share < 0.9 ? 2 : 40 }),
      },
    ],
  ],
  gradient_spikes: [
    [
      'a missing score of 5000, after which most groups are equal',
      {
        steps: 18,
        groups: 6,
        size: 6,
        skill: (s, task) => (s < 0.5 ? 0.6 : task < 0.5 ? 1 : 0),
        change: (_e, { share, index }) =>
          index === 0 && Math.round(share * 17) === 9 ? { reward: 5000, success: false } : {},
        figures: { grad_norm: (s, { next }) => (Math.round(s * 17) === 9 ? 40 : 0.003 + 0.002 * next()) },
      },
    ],
  ],
  temperature_too_high: [
    [
      'answers fill a short limit, and evaluations learn anyway',
      {
        skill: flat(0.15),
        heldOut: (s) => 0.6 * s,
        settings: { temperature: 2.2 },
        entropy: flat(2.6),
        change: ({ phase, success }) => ({ cut: phase === 'train' && !success ? 1 : 0, tokens: 16 }),
      },
    ],
  ],
  sampler_gap: [
    [
      'and half of the tool calls cannot be used',
      {
        skill: flat(0.02),
        change: (_e, { index }) => ({ answers: 3, withTools: 3, callingTools: 2, badCalls: index % 2 ? 2 : 0 }),
        figures: { gap: flat(0.2) },
      },
    ],
  ],
  stragglers: [
    [
      'in a run that has learned all',
      {
        skill: (s) => Math.min(0.99, 0.4 + 1.2 * s),
        change: (_e, { random }) => ({ seconds: random.next() < 0.06 ? 8 : 0.4 + 0.1 * random.next() }),
      },
    ],
  ],
  swallowed_errors: [
    [
      'each tool fails, and no answer is left',
      {
        skill: flat(0),
        steps: 3,
        evaluated: [0],
        change: () => ({
          answers: 2,
          withTools: 2,
          callingTools: 1,
          toolResults: 1,
          toolErrors: 1,
          answer: '',
          expected: '5',
        }),
      },
    ],
  ],
  failed_episodes: [
    [
      'a fifth, and many groups are equal',
      {
        skill: (_s, task) => (task < 0.45 ? 0 : task > 0.55 ? 1 : 0.5),
        change: (_e, { random }) =>
          random.next() < 0.2
            ? {
                status: 'failed',
                success: false,
                reward: undefined,
                error: { code: 'workflow_failed', message: 'RangeError', outage: false },
              }
            : {},
        figures: { equal_groups: flat(0.8) },
      },
    ],
  ],
  no_gain: [
    [
      'labels by chance, and one-word answers stay the same',
      {
        steps: 8,
        skill: flat(0.3),
        heldOut: (_s, task) => (task < 0.3 ? 1 : 0),
        settings: { rate: 1e-4 },
        change: ({ phase, task, id }, { task: at }) => ({
          tokens: 2,
          tokensHash: phase === 'evaluation' && at < 0.95 ? task : id,
        }),
      },
    ],
  ],
  stopped_learning: [
    [
      'halfway through sixteen steps',
      {
        steps: 16,
        groups: 4,
        size: 6,
        held: 80,
        evaluated: [0, 4, 8, 12, 16],
        skill: (s) => (s < 0.25 ? 0.05 + 1.6 * s : 0.45),
        heldOut: (s) => (s < 0.25 ? 0.05 + 1.6 * s : 0.45),
      },
    ],
  ],
});

it.each(variants)('%s: %s', (cause, _name, run) => {
  expect(examine(run).findings[0]?.cause).toBe(cause);
});

it.each([
  [
    'keeps most of what it learned',
    { steps: 24, held: 60, skill: learning, heldOut: (s: number) => [0.35, 0.95, 0.75][Math.round(2 * s)] ?? 0 },
  ],
  [
    'learns one kind more slowly than another',
    {
      held: 120,
      skill: (s: number, task: number) => (task < 0.5 ? 0.2 + 0.65 * s : 0.3 * s),
      change: (_e: object, { task }: { readonly task: number }) => ({ kind: task < 0.5 ? 'a' : 'b' }),
    },
  ],
])('a run that %s needs no change', (_name, spec) => {
  expect(examine(simulateRun(spec)).findings.filter(({ asks }) => asks === 'change')).toEqual([]);
});
