import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { median } from '../bench/bench.js';
import type { SeedResult } from './cell-result.js';
import { formatReleases, readAllResults, releasesPage } from './releases-page.js';
import { listVersions, readResults } from './store.js';

/**
 * Checks the newest kept result of each tutorial on its held-out tasks. Values are medians of three seeds unless the
 * entry says "every".
 */

const newest = listVersions().flatMap((version) => readResults(version));

function seedsOf(tutorial: string, backbone = 'onnx'): readonly SeedResult[] {
  const { seeds } = newest.findLast((result) => result.tutorial === tutorial && result.backbone === backbone) ?? {};
  if (seeds === undefined) throw new Error(`no result of ${tutorial} is kept`);
  expect(seeds.length, tutorial).toBeGreaterThanOrEqual(3);
  return seeds;
}

const medianOf = (tutorial: string, valueOf: (seed: SeedResult) => number | null | undefined): number =>
  median(seedsOf(tutorial).map((seed) => valueOf(seed) ?? Number.NaN));
const after = (tutorial: string): number => medianOf(tutorial, (seed) => seed.success_after);
const gain = (tutorial: string): number =>
  medianOf(tutorial, ({ success_after: later, success_before: before }) => (later ?? 0) - (before ?? 1));

/**
 * Returns how much more of one family is solved after training. Results keep the outcome of each task after training,
 * but only the sum before it. So the comparison assumes that all tasks that were solved before training were of this
 * family.
 */
function leastGain(
  { outcomes, success_before: before }: Pick<SeedResult, 'outcomes' | 'success_before'>,
  family: string,
) {
  const all = Object.entries(outcomes);
  const own = all.filter(([taskId]) => taskId.includes(family));
  const solved = own.filter(([, isSolved]) => isSolved).length;
  return (solved - (before ?? 1) * all.length) / own.length;
}

describe('the kept results meet the bars of the tutorials', () => {
  it('frozen-lake: every seed begins at 0.45 or less and ends at 0.85 or more', () => {
    for (const { seed, success_before: before, success_after: later } of seedsOf('frozen-lake')) {
      expect(before, `seed ${seed}`).toBeLessThanOrEqual(0.45);
      expect(later, `seed ${seed}`).toBeGreaterThanOrEqual(0.85);
    }
  });

  // The untrained nano solves none of these tasks, so twice its success would still be 0. Here, reinforcement learning
  // begins with a model that was trained by imitation.
  it('countdown: at least 0.6, and 0.1 more than imitation alone', () => {
    for (const { seed, stages, success_before: before } of seedsOf('countdown'))
      expect(stages?.at(-1)?.success_after, `seed ${seed}`).toBe(before);
    expect(after('countdown')).toBeGreaterThanOrEqual(0.6);
    expect(gain('countdown')).toBeGreaterThanOrEqual(0.1);
  });

  // A judging model may be deceived, so both tutorials are compared by the figures of the rule judge.
  it.each([
    ['learning-to-ask', ''],
    ['learning-to-ask-llm', 'RuleJudge/'],
  ])('%s: 0.3 more of the hidden facts, and one question in 0.95 of the turns', (tutorial, prefix) => {
    const facts = `${prefix}facts_found`;
    const found = medianOf(
      tutorial,
      ({ parts_after: later, parts_before: before }) => (later?.[facts] ?? 0) - (before?.[facts] ?? 1),
    );
    expect(found).toBeGreaterThanOrEqual(0.3);
    expect(medianOf(tutorial, (seed) => seed.parts_after?.[`${prefix}one_question`])).toBeGreaterThanOrEqual(0.95);
  });

  it('environments: within 0.05 of one another in four worlds', () => {
    const worlds = ['environments', 'environments-agentjet', 'environments-openenv', 'environments-mcp'].map(after);
    expect(Math.max(...worlds) - Math.min(...worlds)).toBeLessThanOrEqual(0.05);
  });

  it.each(['math-agent', 'werewolves', 'langgraph-graph', 'office', 'documents', 'reasoning-gym'])(
    '%s: 0.3 more',
    (tutorial) => {
      expect(gain(tutorial)).toBeGreaterThanOrEqual(0.3);
    },
  );

  it.each(['leg_counting', 'chain_sum'])(
    'reasoning-gym: 0.3 more of %s, however little of it was solved before',
    (family) => {
      expect(medianOf('reasoning-gym', (seed) => leastGain(seed, family))).toBeGreaterThanOrEqual(0.3);
    },
  );

  it.each(['typed-tools-lenient', 'typed-tools-strict'])('%s: every seed ends at 0.95 or more', (tutorial) => {
    for (const { seed, success_after: later } of seedsOf(tutorial, 'torch'))
      expect(later, `seed ${seed}`).toBeGreaterThanOrEqual(0.95);
  });

  it.each([
    ['distill', 'onnx'],
    ['distill-smollm2', 'onnx'],
    ['distill-typed-tools', 'torch'],
  ])(
    '%s: every student has nine tenths of the gain, after half of the tokens that rewards need',
    (tutorial, backbone) => {
      for (const { seed, success_after: later, sampled_tokens: sampled } of seedsOf(tutorial, backbone)) {
        expect(later, `seed ${seed}`).toBeGreaterThanOrEqual(sampled?.target ?? 1);
        expect(sampled?.from_teacher ?? Number.NaN, `seed ${seed}`).toBeLessThanOrEqual(
          (sampled?.from_rewards ?? 0) / 2,
        );
      }
    },
  );

  it('feedback: the second week is better than the first', () => {
    expect(gain('feedback')).toBeGreaterThan(0);
  });
});

it('a family that learns alone does not meet the bar of the other one', () => {
  const tasks = Array.from({ length: 20 }, (_none, at) => [
    `${at % 2 === 0 ? 'leg_counting' : 'chain_sum'}-${at}`,
    at % 2 === 0,
  ]);
  const seed = { outcomes: Object.fromEntries(tasks) as Record<string, boolean>, success_before: 0.1 };
  expect(leastGain(seed, 'leg_counting')).toBeCloseTo(0.8);
  expect(leastGain(seed, 'chain_sum')).toBeCloseTo(-0.2);
});

it('RELEASES.md is what is made of the kept results', () => {
  expect(readFileSync(releasesPage, 'utf8')).toBe(formatReleases(readAllResults()));
});

it('the gate caught the five regressions that break learning, and at most one of 40 unchanged reruns', () => {
  const file = path.join(import.meta.dirname, 'mutants/results/gate.json');
  const gate = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, unknown>>;
  expect(gate).toMatchObject({ planted: 5, caught: 5, reruns: 40 });
  expect(gate['false_alarms']).toBeLessThanOrEqual(1);
});
