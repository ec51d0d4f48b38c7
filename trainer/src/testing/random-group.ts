import { createRandom, type EpisodeGroup, type RewardedEpisode, type Sample } from '@agentjet/core';

export type RandomGroupOptions = {
  /** Whether an episode is cut into one sample per turn or is one sample. Its tokens are the same in both cases. */
  readonly isCut: (episode: number) => boolean;
  readonly vocabSize: number;
};

/**
 * Makes episodes of one to four turns with these rewards. A turn is one token from outside, then two generated ones,
 * and sees all turns before it.
 */
export function createRandomGroup(
  groupId: string,
  rewards: readonly number[],
  { isCut, vocabSize }: RandomGroupOptions,
): EpisodeGroup {
  return {
    groupId,
    episodes: rewards.map((reward, index) =>
      createEpisode(`${groupId}/${index}`, reward, {
        numTurns: 1 + ((index * 2) % 4),
        isCut: isCut(index),
        seed: index,
        vocabSize,
      }),
    ),
  };
}

function createEpisode(
  episodeId: string,
  reward: number,
  { numTurns, isCut, seed, vocabSize }: { numTurns: number; isCut: boolean; seed: number; vocabSize: number },
): RewardedEpisode {
  const random = createRandom(seed);
  const ids = Array.from({ length: 1 + 3 * numTurns }, () => random.int(vocabSize));
  const logprobs = ids.map(() => -0.2 - random.next());
  const teacherLogprobs = ids.map(() => -0.1 - 2 * random.next());
  const sampleOf = (from: number, end: number): Sample => {
    const pick = (value: (t: number) => number, other: number) =>
      Array.from({ length: end }, (_, t) => (t >= from && t > 0 && t % 3 !== 1 ? value(t) : other));
    return {
      episodeId,
      agentName: 'agent',
      targetTag: 'agent',
      ids: Int32Array.from(ids.slice(0, end)),
      lossMask: Uint8Array.from(pick(() => 1, 0)),
      logprobs: Float32Array.from(pick((t) => logprobs[t] ?? 0, 0)),
      teacherLogprobs: Float32Array.from(pick((t) => teacherLogprobs[t] ?? 0, 0)),
      policyVersions: Int32Array.from(pick(() => 0, -1)),
      advantages: new Float32Array(end),
    };
  };
  const turns = Array.from({ length: numTurns }, (_, turn) => sampleOf(3 * turn + 1, 3 * turn + 4));
  return { episodeId, reward, samples: isCut ? turns : [sampleOf(0, ids.length)] };
}
