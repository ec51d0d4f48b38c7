import type { EpisodeGroup, RewardedEpisode, Sample } from '@agentjet/core';
import { expect, it } from 'vitest';
import { createGrpo } from '../algorithms/grpo/grpo.js';
import { createMaxrl } from '../algorithms/maxrl/maxrl.js';
import { createReinforce } from '../algorithms/reinforce/reinforce.js';
import { creditGroups } from './credit-groups.js';

const algorithm = { name: 'none', credit: (): readonly Sample[] => [] };

const orderOf = (groups: readonly EpisodeGroup[]): readonly (readonly string[])[] =>
  creditGroups(algorithm, groups).map(({ group }) => [
    group.groupId,
    ...group.episodes.map(({ episodeId }) => episodeId),
  ]);

const episode = (episodeId: string, place?: number): RewardedEpisode => ({
  episodeId,
  reward: 0,
  samples: [],
  ...(place !== undefined && { place }),
});

it('orders groups and episodes by their ids as strings', () => {
  const ids = ['e1-b-r2', 'e1-b-r10', 'e1-b-r1-a1', 'e1-b-r0'];
  const groups = [
    { groupId: 'e1-b', episodes: ids.map((id) => episode(id)) },
    { groupId: 'e1-a', episodes: [] },
    { groupId: 'e10-a', episodes: [] },
  ];
  expect(orderOf(groups)).toEqual([['e1-a'], ['e1-b', 'e1-b-r0', 'e1-b-r1-a1', 'e1-b-r10', 'e1-b-r2'], ['e10-a']]);
});

it('orders those with random ids by rank and place, as an ordinary run orders its own', () => {
  const groups = [
    { groupId: 'g0', rank: 'e1-b', episodes: [episode('x', 2), episode('q', 10), episode('z', 1), episode('a', 0)] },
    { groupId: 'g1', rank: 'e1-a', episodes: [] },
    { groupId: 'g2', rank: 'e10-a', episodes: [] },
  ];
  expect(orderOf(groups)).toEqual([['g1'], ['g0', 'a', 'z', 'q', 'x'], ['g2']]);
});

it('an episode without a trained token changes no baseline', () => {
  const trained = (episodeId: string, reward: number): RewardedEpisode => ({
    episodeId,
    reward,
    samples: [
      {
        episodeId,
        agentName: 'a',
        targetTag: 'a',
        ids: Int32Array.of(1, 2),
        lossMask: Uint8Array.of(0, 1),
        logprobs: new Float32Array(2),
        policyVersions: Int32Array.of(-1, 0),
        advantages: new Float32Array(2),
      },
    ],
  });
  const masked = trained('masked', -50);
  const poison = [
    { ...episode('none'), reward: 1e6 },
    { ...masked, samples: masked.samples.map((sample) => ({ ...sample, lossMask: new Uint8Array(2) })) },
  ];
  for (const by of [createGrpo(), createReinforce({ baseline: 'group' }), createReinforce(), createMaxrl()]) {
    const of = (more: readonly RewardedEpisode[]) =>
      creditGroups(by, [{ groupId: 'g', episodes: [trained('x', 0), trained('y', 1), ...more] }]);
    const [clean] = of([]);
    const [poisoned] = of(poison);
    expect(poisoned?.samples).toEqual(clean?.samples);
    expect(poisoned?.group.episodes).toHaveLength(4);
  }
});
