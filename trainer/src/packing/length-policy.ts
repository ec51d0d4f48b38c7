import { BackboneError, type Sample } from '@agentjet/core';

/**
 * What happens to a sample over the length limit.
 * - `error`: the run stops before the step.
 * - `drop_episode`: all samples of its episode are left out of the step.
 * - `truncate`: its tail is cut; what was generated beyond the limit is not trained.
 *
 * Lengths are looked at after credit: the reward of an over-long episode stays in its siblings' baseline, so
 * dropping it changes nobody else's advantages.
 */
export type OverlongPolicy = 'error' | 'drop_episode' | 'truncate';

/** Most tokens of one sample, prompt and answers together, and what becomes of a longer one. */
export type LengthLimit = { readonly maxSampleTokens: number; readonly policy: OverlongPolicy };

export type LimitedSamples = {
  readonly samples: readonly Sample[];
  /** Samples over the limit. */
  readonly overlongSamples: number;
  readonly droppedEpisodes: number;
  readonly truncatedSamples: number;
  /** Generated tokens left out of training by the policy. */
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
  };
}

/** Generated tokens of samples whose masks mark each of them once. */
export function countMasked(samples: readonly Sample[]): number {
  return samples.reduce((sum, { lossMask }) => sum + lossMask.reduce((ones, mask) => ones + mask, 0), 0);
}
