import type { RewardedEpisode, Sample } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { shapeRewards, shapingMetrics } from './shape-rewards.js';

/** The lengths of the answers, each after one token from outside. */
const sampleOf = (answers: readonly number[], more: Partial<Sample> = {}): Sample => {
  const lossMask = Uint8Array.from(answers.flatMap((length) => [0, ...Array.from({ length }, () => 1)]));
  return {
    episodeId: 'e',
    agentName: 'agent',
    targetTag: 'agent',
    ids: new Int32Array(lossMask.length),
    lossMask,
    logprobs: new Float32Array(lossMask.length),
    policyVersions: new Int32Array(lossMask.length),
    advantages: new Float32Array(lossMask.length),
    ...more,
  };
};

const groupOf = (...episodes: readonly Omit<RewardedEpisode, 'episodeId'>[]) => ({
  groupId: 'g',
  episodes: episodes.map((episode, at) => ({ episodeId: `e${at}`, ...episode })),
});

describe('the punishment of long answers', () => {
  const overlong = { maxTokens: 100, buffer: 20, factor: 2 };
  const rewardsAt = (...lengths: readonly number[]) =>
    shapeRewards([groupOf(...lengths.map((length) => ({ reward: 1, samples: [sampleOf([length])] })))], {
      overlong,
    })[0]?.episodes.map(({ reward }) => reward);

  it('grows in the buffer before the limit, as DAPO has it', () => {
    expect(rewardsAt(1, 80, 85, 90, 100, 120)).toEqual([1, 1, 0.5, 0, -1, -1]);
  });

  it('counts the longest answer of an episode, even if several rows share it', () => {
    const turnIndices = (turns: readonly number[]) => Int32Array.from(turns);
    const shared = [
      sampleOf([45], { turnIndices: turnIndices([-1, ...Array.from({ length: 45 }, () => 0)]) }),
      sampleOf([45], { turnIndices: turnIndices([-1, ...Array.from({ length: 45 }, () => 0)]) }),
    ];
    const group = groupOf({ reward: 0, samples: [sampleOf([30, 30, 30])] }, { reward: 0, samples: shared });
    expect(shapeRewards([group], { overlong })[0]?.episodes.map(({ reward }) => reward)).toEqual([0, -1]);
  });

  it('makes each target pay for its own answers', () => {
    const samples = [sampleOf([90], { targetTag: 'wolf' }), sampleOf([10], { targetTag: 'villager' })];
    const [group] = shapeRewards([groupOf({ reward: 0, rewards: { wolf: 1, villager: 1 }, samples })], { overlong });
    expect(group?.episodes[0]).toMatchObject({ reward: -1, rewards: { wolf: 0, villager: 1 } });
  });
});

it('KL in the reward is the sum over the sampled tokens of an episode', () => {
  const samples = [
    sampleOf([2], { logprobs: Float32Array.of(0, -1, -2), teacherLogprobs: Float32Array.of(0, -1.5, -1) }),
  ];
  const before = [groupOf({ reward: 1, samples })];
  const rewardWith = (estimator: 'k1' | 'k2' | 'k3') =>
    shapeRewards(before, { kl: { coef: 0.5, estimator } })[0]?.episodes[0]?.reward;
  expect(rewardWith('k1')).toBeCloseTo(1 - 0.5 * (0.5 - 1), 12);
  expect(rewardWith('k2')).toBeCloseTo(1 - 0.5 * (0.125 + 0.5), 12);
  expect(rewardWith('k3')).toBeCloseTo(1 - 0.5 * (Math.exp(-0.5) + 0.5 - 1 + (Math.exp(1) - 1 - 1)), 12);
  const after = shapeRewards(before, { kl: { coef: 0.5, estimator: 'k2' } });
  expect(shapingMetrics(before, after)).toEqual({ reward_penalty: 0.3125 });
});

it('KL in the reward leaves equal rewards equal while the policy differs from the initial model by rounding alone', () => {
  const rounded = (by: number) =>
    sampleOf([2], { logprobs: Float32Array.of(0, -1, -2), teacherLogprobs: Float32Array.of(0, -1 + by, -2 - by / 2) });
  const before = [groupOf(...[3e-5, -4e-5].map((by) => ({ reward: 1, samples: [rounded(by)] })))];
  const [group] = shapeRewards(before, { kl: { coef: 1, estimator: 'k1' } });
  expect(group?.episodes.map(({ reward }) => reward)).toEqual([1, 1]);
});
