import type { Sample } from '@agentjet/core';

export type FreshSamples = {
  readonly samples: readonly Sample[];
  /** Episodes left out because a trained token of theirs is older than the limit. */
  readonly staleEpisodes: number;
  /** Versions between a trained token's sampling and now; mean over the tokens kept, and the most of any. */
  readonly stalenessMean: number;
  readonly stalenessMax: number;
};

/**
 * Leaves out every episode with a trained token whose weights are more than `maxStaleness` versions behind
 * `policyVersion`, the weights that are about to be trained. It is looked at after credit, like over-long samples: the
 * reward of an episode left out stays in the baseline of its siblings. Tokens without a version (-1) count as new.
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

/** Of each trained token. */
function agesOf({ lossMask, policyVersions }: Sample, policyVersion: number): number[] {
  return [...policyVersions]
    .filter((version, t) => lossMask[t] === 1 && version >= 0)
    .map((version) => policyVersion - version);
}
