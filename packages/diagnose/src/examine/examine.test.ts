import { createRandom } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { examine } from './examine.js';
import type { ExaminedEvaluation, ExaminedRun, FigureName } from './examined-run.js';
import { emptySeries, type FigureSeries } from './figures/series.js';

const numSteps = 60;

/** A figure with noise, from the same seed each time. */
function draw(valueAt: (share: number) => number, noise = 0.02): FigureSeries {
  const { next } = createRandom(11);
  const steps = Array.from({ length: numSteps }, (_, at) => at + 1);
  return {
    steps,
    values: steps.map((step) => valueAt(step / numSteps) + noise * (next() + next() + next() - 1.5) * 2),
  };
}

type Changes = {
  readonly figures?: Readonly<Partial<Record<FigureName, FigureSeries>>>;
  readonly evaluations?: readonly ExaminedEvaluation[];
};

/** A run whose success rises from 0.2 to 0.6. */
function runWith({ figures = {}, evaluations }: Changes = {}): ExaminedRun {
  return {
    source: 'metrics.jsonl',
    steps: numSteps,
    figures: {
      reward: draw((share) => 0.2 + 0.4 * share),
      entropy: draw((share) => 0.8 - 0.3 * share),
      grad_norm: draw(() => 0.5),
      cut: draw(() => 0.003, 0),
      ...figures,
    },
    groups: emptySeries,
    parts: new Map(),
    evaluations: evaluations ?? [0.2, 0.3, 0.4, 0.5, 0.58].map((score, at) => ({ step: at * 15, score })),
    settings: { groupSize: 8, rate: 0.001 },
    episodes: undefined,
  };
}

const causesOf = (changes?: Changes): readonly string[] => examine(runWith(changes)).findings.map(({ cause }) => cause);

describe('a run that learns', () => {
  it('has no findings', () => {
    expect(causesOf()).toEqual([]);
  });

  it('has none if entropy is gone and the reward is flat, as long as held-out success is high', () => {
    const figures = { entropy: draw((share) => 0.8 * Math.exp(-12 * share), 0), reward: draw(() => 0.95) };
    const evaluations = [0.2, 0.9, 0.95].map((score, at) => ({ step: at * 30, score }));
    expect(causesOf({ figures, evaluations })).toEqual([]);
  });

  it('is only said to be done if most groups are solved by all of their episodes', () => {
    const evaluations = [0.3, 0.9, 0.95].map((score, at) => ({ step: at * 30, score }));
    const { findings } = examine(runWith({ figures: { equal_groups: draw((share) => share) }, evaluations }));
    expect(findings).toMatchObject([{ cause: 'always_solved', asks: 'nothing' }]);
  });
});

describe('the order of findings', () => {
  it('puts a cause before what follows from it', () => {
    const figures = {
      entropy: draw((share) => 0.8 * Math.exp(-12 * share), 0),
      reward: draw((share) => Math.min(0.5, 0.2 + 1.5 * share)),
    };
    const evaluations = [0.2, 0.42, 0.45, 0.45, 0.45].map((score, at) => ({ step: at * 15, score }));
    expect(causesOf({ figures, evaluations })).toEqual(['lost_variety', 'stopped_learning']);
  });

  it('names at most five, with figures, limits and cures', () => {
    const { findings } = examine(runWith({ figures: { cut: draw(() => 0.4) } }));
    expect(findings).toMatchObject([
      { cause: 'cut_answers', asks: 'change', summary: expect.stringMatching(/^4\d% of the answers since step 46/) },
    ]);
    expect(findings[0]?.cure).toContain('rollout.max_response_length_in_one_turn');
    expect(findings.length).toBeLessThanOrEqual(5);
  });
});

it('calls two falls of held-out success by more than its intervals swings, and one fall not', () => {
  const evaluate = (scores: readonly number[]): readonly ExaminedEvaluation[] =>
    scores.map((score, at) => ({ step: at * 15, score, low: score - 0.1, high: score + 0.1 }));
  const figures = { reward: draw(() => 0.4) };
  const { findings } = examine(runWith({ figures, evaluations: evaluate([0.2, 0.6, 0.3, 0.6, 0.35]) }));
  expect(findings[0]).toMatchObject({ cause: 'swings', since: 15 });
  expect(findings[0]?.summary).toMatch(/it fell 2 times by more than chance, by up to 0\.3/);
  expect(causesOf({ figures, evaluations: evaluate([0.2, 0.6, 0.3, 0.6, 0.55]) })).not.toContain('swings');
});

it('says what it could not look at, and why', () => {
  const { unseen } = examine(runWith());
  expect(unseen).toContainEqual({ cause: 'kl_drift', needs: ['kl'] });
  expect(unseen).toContainEqual({ cause: 'failed_episodes', needs: ['episodes'] });
  expect(unseen.map(({ cause }) => cause)).not.toContain('cut_answers');
});
