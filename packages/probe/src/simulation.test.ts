import { createRandom, type Random } from '@agentjet/core';
import { successInterval, successRate } from '@agentjet/core/success';
import { describe, expect, it } from 'vitest';
import { scoreGroups } from './groups-that-train.js';
import type { GroupRules, EpisodeOutcome } from './outcomes.js';

/** Populations of tasks. Each function returns the chance of success of a random task. */
const populations: Readonly<Record<string, (random: Random) => number>> = {
  'tasks of one difficulty': () => 0.14,
  'tasks of every difficulty': (random) => random.next(),
  'tasks that are never or sometimes solved': (random) => (random.next() < 0.6 ? 0 : 0.4),
  'tasks that are mostly solved or mostly not': (random) => (random.next() < 0.5 ? 0.03 : 0.96),
  'tasks of four kinds': (random) => [0, 0.1, 0.5, 1][random.int(4)] ?? 0,
};

const rules: GroupRules = { dropsFailed: false, minShare: 0.5, trainedIfEqual: new Set() };
const episode = (random: Random, chance: number): EpisodeOutcome => {
  const isSuccess = random.next() < chance;
  return { value: isSuccess ? '1' : '0', isSuccess };
};
const draw = (random: Random, chanceOf: (random: Random) => number, numEpisodes: number) => {
  const chance = chanceOf(random);
  return { outcomes: Array.from({ length: numEpisodes }, () => episode(random, chance)) };
};

function trueShare(chanceOf: (random: Random) => number, numRepeat: number): number {
  const random = createRandom(99);
  const shares = Array.from({ length: 20_000 }, () => chanceOf(random)).map(
    (chance) => 1 - chance ** numRepeat - (1 - chance) ** numRepeat,
  );
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function simulate(
  population: string,
  { numEpisodes, numRepeat, numProbes }: Readonly<Record<'numEpisodes' | 'numRepeat' | 'numProbes', number>>,
) {
  const chanceOf = populations[population] ?? (() => 0);
  const truth = trueShare(chanceOf, numRepeat);
  const random = createRandom(7);
  const found = Array.from({ length: numProbes }, () => {
    const tasks = Array.from({ length: 32 }, () => draw(random, chanceOf, numEpisodes));
    const scores = scoreGroups(tasks, numRepeat, rules);
    return { share: successRate(scores), ...successInterval(scores) };
  });
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    bias: mean(found.map(({ share }) => share)) - truth,
    error: mean(found.map(({ share }) => Math.abs(share - truth))),
    covered: mean(found.map(({ low, high }) => (low <= truth && truth <= high ? 1 : 0))),
  };
}

describe.each(Object.keys(populations))('%s', (population) => {
  it.each([4, 8, 16])('are predicted without bias from 16 episodes each, for groups of %i', (numRepeat) => {
    const { bias, error, covered } = simulate(population, { numEpisodes: 16, numRepeat, numProbes: 400 });
    expect(Math.abs(bias)).toBeLessThan(0.02);
    expect(error).toBeLessThan(0.1);
    expect(covered).toBeGreaterThan(0.92);
  });

  it.each([8, 16])('are predicted from 4 episodes each, for groups of %i', (numRepeat) => {
    const { bias, error, covered } = simulate(population, { numEpisodes: 4, numRepeat, numProbes: 100 });
    expect(Math.abs(bias)).toBeLessThan(0.12);
    expect(error).toBeLessThan(0.15);
    expect(covered).toBeGreaterThan(0.78);
  });
});
