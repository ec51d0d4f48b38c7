import { describe, expect, it } from 'vitest';
import { nextRound, sumEpisodes, type ProbePlan, type Round } from './next-round.js';

const plan: ProbePlan = {
  available: 100,
  leastTasks: 16,
  mostTasks: 40,
  perRound: 4,
  enoughEpisodes: 8,
  mostEpisodes: 16,
  numTemperatures: 2,
};

/** All rounds, if an episode takes a second. */
function roundsOf(given: ProbePlan, budgetSeconds: number | null): readonly Round[] {
  const rounds: Round[] = [];
  for (;;) {
    const seconds = sumEpisodes(given, rounds);
    const next = nextRound(given, { rounds, seconds, budgetSeconds });
    if (next === undefined) return rounds;
    rounds.push(next);
  }
}

describe('the rounds of a probe', () => {
  it('are four episodes of 16 tasks, even if no time is left for more', () => {
    expect(roundsOf(plan, 0)).toEqual([{ firstTask: 0, endTask: 16, numEpisodes: 4 }]);
    expect(roundsOf(plan, null)).toHaveLength(1);
  });

  it('fill the time with up to 16 episodes of each task', () => {
    expect(roundsOf(plan, 255)).toHaveLength(1);
    expect(roundsOf(plan, 256)).toHaveLength(2);
    const large = { ...plan, enoughEpisodes: 16 };
    expect(roundsOf(large, 383)).toHaveLength(2);
    expect(roundsOf(large, 384)).toHaveLength(3);
    expect(sumEpisodes(large, roundsOf(large, 512))).toBe(512);
  });

  it('take up to twice as many tasks if there is time for enough episodes of each', () => {
    expect(roundsOf(plan, 640)).toEqual([
      { firstTask: 0, endTask: 16, numEpisodes: 4 },
      { firstTask: 16, endTask: 32, numEpisodes: 4 },
      { firstTask: 0, endTask: 32, numEpisodes: 4 },
    ]);
    expect(roundsOf(plan, 400).at(-1)).toEqual({ firstTask: 0, endTask: 25, numEpisodes: 4 });
  });

  it('then take more tasks, with 16 episodes each, as many as fit', () => {
    expect(roundsOf(plan, 1024 + 70).at(-1)).toEqual({ firstTask: 32, endTask: 34, numEpisodes: 16 });
    const all = roundsOf(plan, 1e6);
    expect(all.at(-1)?.endTask).toBe(40);
    expect(sumEpisodes(plan, all)).toBe(40 * 16 * 2);
  });

  it('take all tasks if there are few', () => {
    const few = roundsOf({ ...plan, available: 5 }, 1e6);
    expect(few.map(({ endTask }) => endTask)).toEqual([5, 5, 5, 5]);
    expect(roundsOf({ ...plan, available: 18 }, 1e6)[1]).toEqual({ firstTask: 16, endTask: 18, numEpisodes: 4 });
    expect(roundsOf({ ...plan, available: 0 }, 1e6)).toEqual([]);
  });
});
