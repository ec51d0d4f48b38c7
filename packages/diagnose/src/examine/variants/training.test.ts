import { expect, it } from 'vitest';
import { examine } from '../examine.js';
import { flat, learning, listVariants } from '../testing/simulate-run.js';

const variants = listVariants({
  temperature_too_high: [
    [
      'twice the usual one',
      { skill: flat(0.06), heldOut: flat(0.4), settings: { temperature: 2 }, entropy: flat(1.8) },
    ],
    ['without evaluations', { skill: flat(0.02), evaluated: [], settings: { temperature: 1.8 }, entropy: flat(2.2) }],
    [
      'answers are cut as well',
      {
        skill: flat(0.03),
        heldOut: flat(0.3),
        settings: { temperature: 2.5 },
        entropy: flat(3.3),
        change: ({ phase, success }) => ({ cut: phase === 'train' && !success ? 1 : 0 }),
      },
    ],
    [
      'learning destroys held-out success too',
      { skill: flat(0.05), heldOut: (s) => 0.4 - 0.1 * s, settings: { temperature: 1.6 }, entropy: flat(1.7) },
    ],
  ],
  temperature_too_low: [
    [
      'nearly 0',
      {
        skill: (_s, task) => (task < 0.7 ? 0 : 1),
        settings: { temperature: 0.02 },
        change: ({ task }) => ({ tokensHash: task }),
      },
    ],
    [
      'a third of the groups is equal at 0.1',
      {
        skill: (_s, task) => (task < 0.6 ? 0.05 : 0.9),
        settings: { temperature: 0.1 },
        change: ({ task, id }, { task: at }) => ({ tokensHash: at < 0.4 ? task : id }),
      },
    ],
    [
      'top_k of 1',
      {
        skill: (_s, task) => (task < 0.7 ? 0 : 1),
        settings: { temperature: 1, topK: 1 },
        change: ({ task }) => ({ tokensHash: task }),
      },
    ],
    [
      'top_p of 0.1',
      {
        skill: (_s, task) => (task < 0.7 ? 0 : 1),
        settings: { temperature: 1, topP: 0.1 },
        change: ({ task }) => ({ tokensHash: task }),
      },
    ],
    [
      'never right either',
      { skill: flat(0), settings: { temperature: 0.05 }, change: ({ task }) => ({ tokensHash: task }) },
    ],
  ],
  collapsed: [
    ['at once', { steps: 8, skill: (s) => (s < 0.15 ? 0.4 : 0), entropy: (s) => (s < 0.2 ? 0.4 : 0.001) }],
    ['in the middle', { steps: 20, skill: (s) => (s < 0.5 ? 0.3 + 0.4 * s : 0.02) }],
    [
      'without evaluations, and few groups',
      { steps: 10, groups: 4, size: 6, evaluated: [], skill: (s) => (s < 0.4 ? 0.4 : 0.02) },
    ],
    [
      'answers get long',
      {
        steps: 12,
        skill: (s) => (s < 0.3 ? 0.4 : 0),
        change: (_e, { share }) => ({ tokens: share < 0.3 ? 20 : 200, cut: share < 0.3 ? 0 : 1 }),
      },
    ],
    [
      'with a KL loss that does not hold it',
      {
        steps: 12,
        skill: (s) => (s < 0.3 ? 0.4 : 0),
        settings: { usesKl: true, klCoefficient: 0.01 },
        figures: { kl: (s) => (s < 0.3 ? 0.1 : 3) },
      },
    ],
    [
      'tools are not called any more',
      {
        steps: 10,
        skill: (s) => (s < 0.3 ? 0.4 : 0),
        change: (_e, { share }) => ({ withTools: 2, answers: 2, callingTools: share < 0.3 ? 1 : 0 }),
      },
    ],
    [
      'a partial reward falls, and nothing was solved',
      {
        steps: 10,
        skill: flat(0),
        change: (_e, { share, random }) => ({ reward: share < 0.3 ? 0.3 + 0.4 * random.next() : 0 }),
      },
    ],
  ],
  lost_part: [
    [
      'of a long run',
      {
        steps: 30,
        groups: 4,
        evaluated: [0, 10, 20, 30],
        skill: (s) => (s < 0.6 ? 0.1 + 1.1 * s : 0.5),
        held: 80,
        heldOut: (s) => [0.05, 0.5, 0.8, 0.5][Math.round(s * 3)] ?? 0,
      },
    ],
    [
      'with tasks in pairs only',
      {
        steps: 12,
        held: 50,
        heldOut: (s) => [0.3, 0.75, 0.58][Math.round(s * 2)] ?? 0,
        skill: (s) => 0.3 + 0.3 * (s < 0.5 ? s : 1 - s),
      },
    ],
  ],
  swings: [
    [
      'between evaluations',
      {
        steps: 24,
        evaluated: [0, 6, 12, 18, 24],
        skill: flat(0.4),
        held: 80,
        heldOut: (s) => [0.3, 0.7, 0.2, 0.7, 0.25][Math.round(s * 4)] ?? 0,
      },
    ],
    [
      'slowly',
      {
        steps: 30,
        evaluated: [0, 5, 10, 15, 20, 25, 30],
        skill: flat(0.4),
        held: 60,
        heldOut: (s) => [0.3, 0.7, 0.5, 0.3, 0.75, 0.5, 0.3][Math.round(s * 6)] ?? 0,
      },
    ],
    [
      'seen in training alone',
      { steps: 40, evaluated: [0, 40], skill: (s) => (Math.floor(s * 8) % 2 === 0 ? 0.2 : 0.7), heldOut: flat(0.3) },
    ],
    [
      'and it ends low',
      {
        steps: 24,
        evaluated: [0, 6, 12, 18, 24],
        skill: (s) => [0.3, 0.7, 0.1, 0.7, 0.05][Math.round(s * 4)] ?? 0,
        held: 80,
      },
    ],
  ],
  lost_variety: [
    [
      'one of two ways is forgotten',
      {
        steps: 14,
        skill: (s, task) => (s < 0.3 ? 0.4 : task < 0.5 ? 0 : 1),
        entropy: (s) => 0.6 * Math.exp(-9 * s),
        change: ({ task, id }, { share }) => ({ tokensHash: share < 0.3 ? id : task }),
      },
    ],
    [
      'one of two ways is forgotten, and the other one is better than the first evaluation',
      {
        steps: 16,
        groups: 6,
        skill: (s, task) => (s < 0.2 ? 0.3 : Number(task < 0.45)),
        heldOut: (s, task) => (s < 0.2 ? 0.05 : Number(task < 0.45)),
        entropy: (s) => 0.6 * Math.exp(-9 * s),
        change: ({ task, id }, { share }) => ({ tokensHash: share < 0.2 ? id : task }),
      },
    ],
  ],
  rate_too_low: [
    [
      'evaluations change in a third of the tasks',
      {
        steps: 10,
        skill: flat(0.25),
        heldOut: (_s, task) => (task < 0.25 ? 1 : 0),
        settings: { rate: 1e-6 },
        change: ({ phase, task, id }, { task: at }) => ({
          tokensHash: phase === 'evaluation' && at < 0.66 ? task : id,
        }),
      },
    ],
    [
      'and many groups are equal',
      {
        steps: 10,
        skill: (_s, task) => (task < 0.4 ? 0 : task > 0.7 ? 1 : 0.5),
        heldOut: (_s, task) => (task < 0.4 ? 0 : 1),
        settings: { rate: 1e-8 },
        change: ({ phase, task, id }) => ({ tokensHash: phase === 'evaluation' ? task : id }),
      },
    ],
  ],
  sampler_gap: [
    ['a small one that is still many times the usual', { skill: flat(0.3), figures: { gap: flat(0.06) } }],
    ['and the run collapses', { skill: (s) => (s < 0.4 ? 0.4 : 0.02), figures: { gap: flat(0.3) } }],
    ['and the clip removes many tokens', { skill: flat(0.3), figures: { gap: flat(0.2), clipped: flat(0.4) } }],
  ],
  kl_drift: [
    ['slowly', { skill: flat(0.25), settings: { usesKl: true, klCoefficient: 0 }, figures: { kl: (s) => 0.9 * s } }],
    [
      'in the first steps',
      {
        skill: flat(0.25),
        settings: { usesKl: true, klCoefficient: 0.0001 },
        figures: { kl: (s) => (s < 0.05 ? 0.001 : 2) },
      },
    ],
    [
      'and success is lost',
      {
        skill: (s) => 0.4 * (1 - s),
        settings: { usesKl: true, klCoefficient: 0.00001 },
        figures: { kl: (s) => 3 * s },
      },
    ],
  ],
  clipped_away: [
    ['a third of the tokens', { skill: flat(0.25), figures: { clipped: flat(0.33) }, settings: { trainsStale: true } }],
    [
      'from the middle on',
      { skill: flat(0.25), figures: { clipped: (s) => (s > 0.4 ? 0.25 : 0.02) }, settings: { trainsStale: true } },
    ],
    [
      'and the model hardly changes',
      {
        skill: flat(0.25),
        heldOut: (_s, task) => (task < 0.3 ? 1 : 0),
        figures: { clipped: flat(0.6) },
        change: ({ phase, task, id }) => ({ tokensHash: phase === 'evaluation' ? task : id }),
      },
    ],
  ],
  gradient_spikes: [
    [
      'in a run of ten steps',
      { steps: 10, skill: flat(0.3), figures: { grad_norm: (s) => (Math.round(s * 9) % 4 === 3 ? 20 : 0.4) } },
    ],
    [
      'in a run of forty',
      {
        steps: 40,
        skill: (s) => 0.3 + 0.2 * s,
        figures: { grad_norm: (s, { next }) => (Math.round(s * 39) % 9 === 5 ? 25 : 0.3 + 0.3 * next()) },
      },
    ],
    [
      'two huge ones in a run of forty',
      {
        steps: 40,
        skill: flat(0.3),
        figures: { grad_norm: (s, { next }) => ([9, 30].includes(Math.round(s * 39)) ? 90 : 0.3 + 0.3 * next()) },
      },
    ],
    [
      'a missing score of -999 in two steps of a run that learns',
      {
        steps: 20,
        skill: learning,
        change: (_e, { share, index }) =>
          index === 0 && [4, 14].includes(Math.round(share * 19)) ? { reward: -999, success: false } : {},
        figures: { grad_norm: (s, { next }) => ([4, 14].includes(Math.round(s * 19)) ? 0.7 : 0.002 + 0.001 * next()) },
      },
    ],
    [
      'a penalty of 1000 points in one step of small groups',
      {
        steps: 24,
        groups: 6,
        size: 4,
        skill: (s) => 0.2 + 0.2 * s,
        change: ({ success }, { share, index }) =>
          index < 2 && Math.round(share * 23) === 8 ? { reward: -1000, success: false } : { reward: success ? 5 : -5 },
        figures: { grad_norm: (s, { next }) => (Math.round(s * 23) === 8 ? 30 : 0.4 + 0.2 * next()) },
      },
    ],
    [
      'an error code of 404 that is taken for a reward',
      {
        steps: 16,
        skill: flat(0.3),
        change: (_e, { share, index }) =>
          index === 0 && Math.round(share * 15) === 6 ? { reward: 404, success: false } : {},
        figures: { grad_norm: (s, { next }) => (Math.round(s * 15) === 6 ? 80 : 0.4 + 0.2 * next()) },
      },
    ],
  ],
  zero_gradients: [
    ['although rewards differ', { steps: 8, skill: flat(0.3), figures: { grad_norm: flat(0) } }],
    [
      'in most steps',
      { steps: 12, skill: flat(0.3), figures: { grad_norm: (s) => (Math.round(s * 11) % 4 === 0 ? 0.5 : 0) } },
    ],
  ],
  stopped_learning: [
    ['after a third of thirty steps', { steps: 30, skill: (s) => (s < 0.33 ? 0.1 + 1.2 * s : 0.5) }],
    ['after ten of twenty-four', { steps: 24, groups: 12, skill: (s) => (s < 0.4 ? 0.05 + 1.2 * s : 0.53) }],
  ],
});

it.each(variants)('%s: %s', (cause, _name, run) => {
  expect(examine(run).findings[0]?.cause).toBe(cause);
});

it.each(variants.filter(([cause]) => cause === 'lost_variety'))('%s: %s, and a change is asked for', (_c, _n, run) => {
  expect(examine(run).findings[0]?.asks).toBe('change');
});
