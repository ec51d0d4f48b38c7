import type { TrainingGroup } from '@agentjet/trainer';
import { expect, it } from 'vitest';
import { refillGroups } from './refill-groups.js';

function groupOf(index: number, rewards: readonly number[]): TrainingGroup {
  const episodes = rewards.map((reward, at) => ({ episodeId: `t${index}-r${at}`, reward, samples: [] }));
  const report = {
    episodes: 2,
    failedEpisodes: 0,
    successes: 1,
    rewardSum: 1,
    generatedTokens: 10,
    counts: { forks: 1 },
  };
  return { groupId: `t${index}`, draw: { epoch: 0, index }, episodes, report };
}

const flat = (index: number): TrainingGroup => groupOf(index, [1, 1]);
const spread = (index: number): TrainingGroup => groupOf(index, [0, 1]);

/** Returns a function that draws these groups in order. */
function drawing(groups: readonly TrainingGroup[]) {
  const left = [...groups];
  const counts: number[] = [];
  return { counts, draw: async (count: number) => (counts.push(count), left.splice(0, count)) };
}

it('replaces groups in which all rewards are equal, and reports both', async () => {
  const source = drawing([spread(10), flat(11), spread(12)]);
  const filled = await refillGroups([flat(0), spread(1), flat(2)], { most: 8, draw: source.draw });
  expect(filled.map(({ groupId }) => groupId)).toEqual(['t10', 't1', 't12']);
  expect(source.counts).toEqual([2, 1]);
  expect(filled[0]).toMatchObject({
    draw: { index: 10 },
    alsoDrawn: [{ index: 0 }],
    report: { episodes: 4, generatedTokens: 20, counts: { forks: 2, refilled_groups: 1 } },
  });
  expect(filled[2]).toMatchObject({
    alsoDrawn: [{ index: 11 }, { index: 2 }],
    report: { episodes: 6, counts: { refilled_groups: 2 } },
  });
});

it('draws at most as many as it may, and stops at the end of the tasks', async () => {
  const endless = drawing(Array.from({ length: 9 }, (_, index) => flat(10 + index)));
  expect((await refillGroups([flat(0)], { most: 3, draw: endless.draw }))[0]?.groupId).toBe('t12');
  expect(endless.counts).toEqual([1, 1, 1]);
  expect((await refillGroups([flat(0)], { most: 3, draw: drawing([]).draw }))[0]?.groupId).toBe('t0');
  expect(await refillGroups([spread(0)], { most: 0, draw: endless.draw })).toEqual([spread(0)]);
});
