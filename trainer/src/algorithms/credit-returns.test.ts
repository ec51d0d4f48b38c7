import type { EpisodeGroup, RewardedEpisode, Sample, TurnReward } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandomGroup } from '../testing/random-group.js';
import { createGrpo } from './grpo/grpo.js';
import { createReinforce } from './reinforce/reinforce.js';

/** An agent's row has a token from outside, then one token of each turn. */
function row(episodeId: string, agentName: string, turns: readonly number[], targetTag = agentName): Sample {
  const ones = (value: number, other: number) => [other, ...turns.map(() => value)];
  return {
    episodeId,
    agentName,
    targetTag,
    ids: Int32Array.from(ones(1, 2)),
    lossMask: Uint8Array.from(ones(1, 0)),
    logprobs: Float32Array.from(ones(-1, 0)),
    policyVersions: Int32Array.from(ones(0, -1)),
    turnIndices: Int32Array.from([-1, ...turns]),
    advantages: new Float32Array(1 + turns.length),
  };
}

const plain = createReinforce({ baseline: 'none' });
const centered = createGrpo({ normalizeByStd: false });
const advantagesOf = (samples: readonly Sample[]) => samples.map(({ advantages }) => Array.from(advantages).slice(1));
const paid = (agentName: string, turnIndex: number, value: number): TurnReward => ({ agentName, turnIndex, value });
const group = (...episodes: readonly Omit<RewardedEpisode, 'episodeId'>[]): EpisodeGroup => ({
  groupId: 'g',
  episodes: episodes.map((episode, at) => ({ episodeId: `e${at}`, ...episode })),
});

describe('rewards per target', () => {
  it('compare each target with itself, and one that is not named by the reward of the episode', () => {
    const samples = (id: string) => [row(id, 'wolf', [0]), row(id, 'seer', [1])];
    const won = { reward: 3, rewards: { wolf: 1 }, samples: samples('e0') };
    const lost = { reward: 1, rewards: { wolf: -1 }, samples: samples('e1') };
    expect(advantagesOf(centered.credit(group(won, lost)))).toEqual([[1], [1], [-1], [-1]]);
    expect(advantagesOf(plain.credit(group(won, lost)))).toEqual([[1], [3], [-1], [1]]);
  });

  it('that say what the reward of the episode says change nothing, to the last digit', () => {
    const rewardLists = fc.array(fc.constantFrom(0, 0.1, 1, -1.7), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rewardLists, fc.constantFrom('none', 'group', 'batch'), (rewards, baseline) => {
        const one = createRandomGroup('g', rewards, { isCut: () => true, vocabSize: 5 });
        const same = one.episodes.map((episode) => ({ ...episode, rewards: { agent: episode.reward } }));
        for (const algorithm of [createGrpo(), createReinforce({ baseline })])
          expect(algorithm.credit({ ...one, episodes: same })).toEqual(algorithm.credit(one));
      }),
    );
  });
});

describe('rewards per turn', () => {
  it('count for the turn that they follow and for those before it, discounted', () => {
    const samples = [row('e0', 'a', [0, 2, 5])];
    const episode = { reward: 8, turnRewards: [paid('a', 2, 1), paid('a', 2, 3)], samples };
    expect(advantagesOf(plain.credit(group(episode)))).toEqual([[12, 12, 8]]);
    const halved = createReinforce({ baseline: 'none', gamma: 0.5 });
    expect(advantagesOf(halved.credit(group(episode)))).toEqual([[4, 8, 8]]);
  });

  it('belong to their agent alone, also among agents of one target', () => {
    const samples = [row('e0', 'ann', [0, 2], 'villager'), row('e0', 'bob', [1], 'villager')];
    const episode = { reward: 1, turnRewards: [paid('bob', 1, 4)], samples };
    expect(advantagesOf(plain.credit(group(episode)))).toEqual([[1, 1], [5]]);
  });

  it('compare turns of the same number; an episode with fewer turns takes part with its last', () => {
    const long = { reward: 0, turnRewards: [paid('a', 0, 2), paid('a', 3, 6)], samples: [row('e0', 'a', [0, 3])] };
    const short = { reward: 4, samples: [row('e1', 'a', [0])] };
    // The returns are 8 and 6 against 4; the means are 6 and 5.
    expect(advantagesOf(centered.credit(group(long, short)))).toEqual([[2, 1], [-2]]);
  });

  it('reach a turn whose tokens are in another row', () => {
    const samples = [row('e0', 'a', [0]), row('e0', 'a', [1])];
    const episode = { reward: 0, turnRewards: [paid('a', 1, 1)], samples };
    expect(advantagesOf(plain.credit(group(episode)))).toEqual([[1], [1]]);
  });

  it('are refused if they are not finite, naming the episode', () => {
    const episode = { reward: 0, turnRewards: [paid('a', 0, Number.NaN)], samples: [row('e0', 'a', [0])] };
    expect(() => plain.credit(group(episode))).toThrow(/episode "e0" is NaN/);
  });
});
