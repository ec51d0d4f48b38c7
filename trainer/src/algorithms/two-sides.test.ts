import { createRandom, type Backbone, type EpisodeGroup, type RewardedEpisode, type Sample } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { prepareBatch, type BatchSettings } from '../loop/prepare-batch.js';
import { createTinyTaskBackbone } from '../testing/tiny-task.js';
import { createGrpo } from './grpo/grpo.js';
import { plainLoss } from '../testing/plain-loss.js';

/**
 * Two sides say one token each, after different prompts. The number of 3s is good for one side and bad for the other.
 */
const sides = { up: 0, down: 1 } as const;
type Side = keyof typeof sides;

async function speak(backbone: Backbone, side: Side, { episodeId, seed }: { episodeId: string; seed: number }) {
  const promptIds = Int32Array.of(sides[side]);
  const sampling = { temperature: 1, topP: 1, topK: 0, maxTokens: 1, stopIds: [], seed };
  const { ids, logprobs, policyVersion } = await backbone.engine.generate({ promptIds, sampling });
  const sample: Sample = {
    episodeId,
    agentName: side,
    targetTag: side,
    ids: Int32Array.of(sides[side], ...ids),
    lossMask: Uint8Array.of(0, 1),
    logprobs: Float32Array.of(0, ...logprobs),
    policyVersions: Int32Array.of(-1, policyVersion),
    advantages: new Float32Array(2),
  };
  return { sample, isThree: ids[0] === 3 };
}

async function play(backbone: Backbone, groupId: string, seed: number): Promise<EpisodeGroup> {
  const random = createRandom(seed);
  const episodes = Array.from({ length: 16 }, async (_, repeat): Promise<RewardedEpisode> => {
    const episodeId = `${groupId}-r${repeat}`;
    const up = await speak(backbone, 'up', { episodeId, seed: random.int(2 ** 31) });
    const down = await speak(backbone, 'down', { episodeId, seed: random.int(2 ** 31) });
    const threes = Number(up.isThree) + Number(down.isThree);
    return { episodeId, reward: 0, rewards: { up: threes, down: -threes }, samples: [up.sample, down.sample] };
  });
  return { groupId, episodes: await Promise.all(episodes) };
}

/** Returns the probability of a 3 after the prompt of this side. */
async function chance(backbone: Backbone, side: Side): Promise<number> {
  const [row] = await backbone.logprobs([{ ids: Int32Array.of(sides[side], 3) }]);
  return Math.exp(row?.[1] ?? Number.NaN);
}

const settings: BatchSettings = {
  whitenAdvantages: false,
  loss: plainLoss,
  packing: { maxPackTokens: 256 },
  lengthLimit: { maxSampleTokens: Infinity, policy: 'error' },
  numMiniBatches: 1,
  numEpochs: 1,
};

describe('two sides of a game', () => {
  it('learn in opposite directions from opposite rewards', async () => {
    const backbone = createTinyTaskBackbone(1);
    const before = { up: await chance(backbone, 'up'), down: await chance(backbone, 'down') };
    for (let step = 0; step < 12; step++) {
      const groups = [await play(backbone, `g${step}`, 100 + step)];
      const batch = prepareBatch(groups, settings, { backbone, algorithm: createGrpo() });
      await batch.optimize(0);
    }
    expect(await chance(backbone, 'up')).toBeGreaterThan(2 * before.up);
    expect(await chance(backbone, 'down')).toBeLessThan(before.down / 2);
  });
});
