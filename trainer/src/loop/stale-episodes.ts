import type { Sample } from '@agentjet/core';

export type FreshSamples = {
  readonly samples: readonly Sample[];
  /** Episodes that were left out because one of their trained tokens is older than the limit. */
  readonly staleEpisodes: number;
  /** The mean and maximum age of the trained tokens that are kept, in versions. */
  readonly stalenessMean: number;
  readonly stalenessMax: number;
};

/**
 * Leaves out every episode with a trained token that is more than `maxStaleness` versions older than `policyVersion`,
 * the version of the weights that are about to be trained. Advantages are computed before, as for samples over the
 * length limit, so the reward of a left-out episode still counts in the baseline of its group. Tokens without a version
 * (-1) count as new.
 */
export function dropStaleEpisodes(
  samples: readonly Sample[],
  { policyVersion, maxStaleness }: { readonly policyVersion: number; readonly maxStaleness: number },
): FreshSamples {
  const aged = samples.map((sample) => ({ sample, ages: agesOf(sample, policyVersion) }));
  const stale = new Set(
    aged.filter(({ ages }) => ages.some((age) => age > maxStaleness)).map(({ sample }) => sample.episodeId),
  );
  const kept = aged.filter(({ sample }) => !stale.has(sample.episodeId));
  const ages = kept.flatMap((each) => each.ages);
  return {
    samples: kept.map(({ sample }) => sample),
    staleEpisodes: stale.size,
    stalenessMean: ages.reduce((sum, age) => sum + age, 0) / Math.max(ages.length, 1),
    stalenessMax: ages.reduce((most, age) => Math.max(most, age), 0),
  };
}

/** Returns the age of each trained token, in versions. */
function agesOf({ lossMask, policyVersions }: Sample, policyVersion: number): number[] {
  return [...policyVersions]
    .filter((version, t) => lossMask[t] === 1 && version >= 0)
    .map((version) => policyVersion - version);
}
