import { BackboneError, type Algorithm, type EpisodeGroup, type RewardedEpisode, type Sample } from '@agentjet/core';
import { whitenAdvantages } from '../algorithms/whiten-advantages.js';

export type CreditedGroup<G extends EpisodeGroup> = {
  readonly group: G;
  readonly samples: readonly Sample[];
  /** False if no trained token has an advantage: all rewards equal, or no episode at all. */
  readonly hasGradient: boolean;
  /** False if an advantage came out as no finite number. Then all are 0: one of them would spoil all weights. */
  readonly isFinite: boolean;
};

/**
 * Groups and their episodes in order of their ranks, with advantages: the same set gives the same step, in whichever order
 * it finished. With `isWhitened` the advantages of the groups that have a gradient are whitened together.
 * Throws BackboneError `duplicate_episode`: two runs under one id would count as one.
 */
export function creditGroups<G extends EpisodeGroup>(
  algorithm: Algorithm,
  groups: readonly G[],
  isWhitened = false,
): CreditedGroup<G>[] {
  const ordered = groups.toSorted((a, b) => compareText(rankOf(a), rankOf(b))).map(sortEpisodes);
  checkEpisodeIds(ordered);
  const samplesOf = createCredit(algorithm, ordered);
  const credited = ordered.map((group) => {
    const samples = samplesOf(group);
    const isFinite = samples.every(({ advantages }) => advantages.every(Number.isFinite));
    if (!isFinite) return { group, samples: samples.map(withoutCredit), hasGradient: false, isFinite };
    return { group, samples, hasGradient: hasAdvantage(samples), isFinite };
  });
  return isWhitened ? whitenGroups(credited) : credited;
}

const hasAdvantage = (samples: readonly Sample[]): boolean =>
  samples.some(({ advantages }) => advantages.some((advantage) => advantage !== 0));

const withoutCredit = (sample: Sample): Sample => ({
  ...sample,
  advantages: new Float32Array(sample.advantages.length),
});

function whitenGroups<G extends EpisodeGroup>(credited: readonly CreditedGroup<G>[]): CreditedGroup<G>[] {
  const whiten = whitenAdvantages(credited.flatMap(({ samples, hasGradient }) => (hasGradient ? samples : [])));
  return credited.map((each) => {
    if (!each.hasGradient) return each;
    const samples = each.samples.map(whiten);
    return { ...each, samples, hasGradient: hasAdvantage(samples) };
  });
}

function createCredit(
  algorithm: Algorithm,
  groups: readonly EpisodeGroup[],
): (group: EpisodeGroup) => readonly Sample[] {
  if (algorithm.creditBatch === undefined) return (group) => algorithm.credit(group);
  const groupOf = new Map(
    groups.flatMap((group) => group.episodes.map(({ episodeId }) => [episodeId, group] as const)),
  );
  const samples = algorithm.creditBatch(groups);
  return (group) => samples.filter(({ episodeId }) => groupOf.get(episodeId) === group);
}

const rankOf = ({ rank, groupId }: EpisodeGroup): string => rank ?? groupId;

/** Places are compared as strings, as they are in ids: `-r10` comes before `-r2`, and `-r1-a1` before `-r10`. */
const placeOf = ({ place, episodeId }: RewardedEpisode): string => (place === undefined ? episodeId : `${place}`);

function sortEpisodes<G extends EpisodeGroup>(group: G): G {
  return { ...group, episodes: group.episodes.toSorted((a, b) => compareText(placeOf(a), placeOf(b))) };
}

function checkEpisodeIds(groups: readonly EpisodeGroup[]): void {
  const seen = new Set<string>();
  for (const { episodeId } of groups.flatMap(({ episodes }) => episodes)) {
    if (seen.has(episodeId))
      throw new BackboneError(
        'duplicate_episode',
        `Two episodes of one step have the id "${episodeId}"; ids must differ.`,
      );
    seen.add(episodeId);
  }
}

/** By code units: the same on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
