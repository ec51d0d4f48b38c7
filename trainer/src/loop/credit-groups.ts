import { BackboneError, type Algorithm, type EpisodeGroup, type RewardedEpisode, type Sample } from '@agentjet/core';
import { isTrained } from '../algorithms/advantages.js';
import { whitenAdvantages } from '../algorithms/whiten-advantages.js';

export type CreditedGroup<G extends EpisodeGroup> = {
  readonly group: G;
  readonly samples: readonly Sample[];
  /** False if no trained token has an advantage: all rewards are equal, or the group has no episodes. */
  readonly hasGradient: boolean;
  /**
   * False if an advantage is not finite. All advantages of the group are then set to 0, because a single invalid one
   * would make all weights invalid.
   */
  readonly isFinite: boolean;
};

/**
 * Sorts the groups by rank and their episodes by place (the position of an episode in its group), and computes the
 * advantages. The step therefore does not depend on the order in which groups finished. With `isWhitened`, the
 * advantages of all groups that have a gradient are whitened together. An episode without a trained token counts in no
 * baseline, because its reward says nothing about the model. Throws BackboneError `duplicate_episode` if two
 * episodes have the same id, because they would count as one.
 */
export function creditGroups<G extends EpisodeGroup>(
  algorithm: Algorithm,
  groups: readonly G[],
  isWhitened = false,
): CreditedGroup<G>[] {
  const ordered = orderGroups(groups);
  checkEpisodeIds(ordered);
  const trained = ordered.map(keepTrained);
  const samplesOf = createCredit(algorithm, trained);
  const credited = ordered.map((group, index) => {
    const samples = samplesOf(trained[index] ?? group);
    const isFinite = samples.every(({ advantages }) => advantages.every(Number.isFinite));
    if (!isFinite) return { group, samples: samples.map(withoutCredit), hasGradient: false, isFinite };
    return { group, samples, hasGradient: hasAdvantage(samples), isFinite };
  });
  return isWhitened ? whitenGroups(credited) : credited;
}

/** Sorts groups by rank and their episodes by place, so that the order in which they finished has no effect. */
export function orderGroups<G extends EpisodeGroup>(groups: readonly G[]): G[] {
  return groups.toSorted((a, b) => compareText(rankOf(a), rankOf(b))).map(sortEpisodes);
}

/** Returns the group without the episodes that have no trained token. */
const keepTrained = <G extends EpisodeGroup>(group: G): G =>
  group.episodes.every(isTrained) ? group : { ...group, episodes: group.episodes.filter(isTrained) };

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

/**
 * Compares places as strings, like the ids that contain them. `-r10` comes before `-r2`, and `-r1-a1` before `-r10`.
 */
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
        `Two episodes of one step have the id "${episodeId}". Give each episode a different id.`,
      );
    seen.add(episodeId);
  }
}

/** Compares by code units, because that order is the same on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
