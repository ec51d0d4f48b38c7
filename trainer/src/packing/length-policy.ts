import { BackboneError, type Sample } from '@agentjet/core';

/**
 * The policy for a sample over the length limit.
 * - `error`: the run stops before the step.
 * - `drop_episode`: the step leaves out all samples of its episode.
 * - `truncate`: the tail is cut, and tokens generated beyond the limit are not trained.
 *
 * Lengths are checked after credit. The reward of an over-long episode stays in its siblings' baseline, so dropping it
 * does not change the advantages of the others.
 */
export type OverlongPolicy = 'error' | 'drop_episode' | 'truncate';

/** The largest number of tokens of one sample, prompt and answers together, and the policy for a longer one. */
export type LengthLimit = { readonly maxSampleTokens: number; readonly policy: OverlongPolicy };

export type LimitedSamples = {
  readonly samples: readonly Sample[];
  /** The number of samples over the limit. */
  readonly overlongSamples: number;
  readonly droppedEpisodes: number;
  readonly truncatedSamples: number;
  /** The number of generated tokens that the policy left out of training. */
  readonly lostTokens: number;
};

/** Throws BackboneError `overlong_sample` under the policy `error`. */
export function limitLengths(samples: readonly Sample[], { maxSampleTokens, policy }: LengthLimit): LimitedSamples {
  const overlong = samples.filter(({ ids }) => ids.length > maxSampleTokens);
  const [first] = overlong;
  if (first === undefined)
    return { samples, overlongSamples: 0, droppedEpisodes: 0, truncatedSamples: 0, lostTokens: 0 };
  if (policy === 'error') throw overlongError(first, maxSampleTokens);
  const episodes = new Set(overlong.map(({ episodeId }) => episodeId));
  const kept =
    policy === 'truncate'
      ? samples.map((sample) => truncateSample(sample, maxSampleTokens))
      : samples.filter(({ episodeId }) => !episodes.has(episodeId));
  return {
    samples: kept,
    overlongSamples: overlong.length,
    droppedEpisodes: policy === 'truncate' ? 0 : episodes.size,
    truncatedSamples: policy === 'truncate' ? overlong.length : 0,
    lostTokens: countMasked(samples) - countMasked(kept),
  };
}

function overlongError(sample: Sample, limit: number): BackboneError {
  return new BackboneError(
    'overlong_sample',
    `A sample of episode "${sample.episodeId}" (agent "${sample.agentName}") has ${sample.ids.length} tokens; the limit is ${limit}. ` +
      'Raise data.max_prompt_length or data.max_response_length (the limit is their sum), shorten the conversation, or set data.overlong_sample_policy to drop_episode or truncate.',
  );
}

function truncateSample(sample: Sample, length: number): Sample {
  if (sample.ids.length <= length) return sample;
  return {
    ...sample,
    ids: sample.ids.slice(0, length),
    lossMask: sample.lossMask.slice(0, length),
    logprobs: sample.logprobs.slice(0, length),
    policyVersions: sample.policyVersions.slice(0, length),
    advantages: sample.advantages.slice(0, length),
    ...(sample.turnIndices && { turnIndices: sample.turnIndices.slice(0, length) }),
    ...(sample.temperatures && { temperatures: sample.temperatures.slice(0, length) }),
    ...(sample.teacherLogprobs && { teacherLogprobs: sample.teacherLogprobs.slice(0, length) }),
  };
}

/** Counts the generated tokens. The masks of the samples must mark each generated token exactly once. */
export function countMasked(samples: readonly Sample[]): number {
  return samples.reduce((sum, { lossMask }) => sum + lossMask.reduce((ones, mask) => ones + mask, 0), 0);
}
