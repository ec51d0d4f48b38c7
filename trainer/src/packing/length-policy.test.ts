import { createRandom } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { createRandomSample } from '../testing/random-samples.js';
import { countMasked, limitLengths } from './length-policy.js';

const random = createRandom(5);
const short = { ...createRandomSample(random, [1, 2, 3], 1), episodeId: 'a', lossMask: Uint8Array.of(0, 1, 1) };
const long = {
  ...createRandomSample(random, [1, 2, 3, 4, 5, 6], 1),
  episodeId: 'a',
  lossMask: Uint8Array.of(0, 0, 0, 1, 1, 1),
  turnIndices: Int32Array.of(-1, -1, -1, 0, 0, 0),
};
const other = { ...createRandomSample(random, [1, 2], 1), episodeId: 'b', lossMask: Uint8Array.of(0, 1) };

describe('limitLengths', () => {
  it('leaves samples within the limit alone', () => {
    const samples = [short, long, other];
    expect(limitLengths(samples, { maxSampleTokens: 6, policy: 'error' })).toMatchObject({
      samples,
      overlongSamples: 0,
      lostTokens: 0,
    });
  });

  it('error: says which episode, how long, and what to do', () => {
    expect(() => limitLengths([short, long], { maxSampleTokens: 4, policy: 'error' })).toThrow(
      /episode "a".*6 tokens; the limit is 4.*drop_episode/s,
    );
  });

  it('drop_episode: leaves out all samples of the episode and counts them', () => {
    expect(limitLengths([short, long, other], { maxSampleTokens: 4, policy: 'drop_episode' })).toEqual({
      samples: [other],
      overlongSamples: 1,
      droppedEpisodes: 1,
      truncatedSamples: 0,
      lostTokens: 5,
    });
  });

  it('truncate: cuts every array of the sample and counts what is not trained', () => {
    const limited = limitLengths([short, long, other], { maxSampleTokens: 4, policy: 'truncate' });
    expect(limited).toMatchObject({ overlongSamples: 1, droppedEpisodes: 0, truncatedSamples: 1, lostTokens: 2 });
    expect(limited.samples[1]).toMatchObject({
      ids: Int32Array.of(1, 2, 3, 4),
      lossMask: Uint8Array.of(0, 0, 0, 1),
      turnIndices: Int32Array.of(-1, -1, -1, 0),
      advantages: long.advantages.slice(0, 4),
    });
    expect(countMasked(limited.samples)).toBe(4);
  });
});
