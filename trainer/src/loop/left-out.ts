import type { Sample } from '@agentjet/core';
import type { CreditedGroup } from './credit-groups.js';
import type { TrainingGroup } from './training-group.js';

/**
 * An episode of the batch that the step does not train. There are five reasons: all rewards of its group are equal, the
 * episode has no samples, its advantages are not finite, it is older than the staleness limit, or the length policy
 * dropped it.
 */
export type LeftOutEpisode = {
  readonly episodeId: string;
  readonly reason: 'no_gradient' | 'no_samples' | 'non_finite' | 'stale' | 'overlong';
};

/** `fresh` holds the samples that are not stale, and `limited` holds the fresh samples that the length policy kept. */
export function findLeftOut(
  credited: readonly CreditedGroup<TrainingGroup>[],
  { fresh, limited }: { readonly fresh: readonly Sample[]; readonly limited: readonly Sample[] },
): LeftOutEpisode[] {
  const [withSamples, freshIds, limitedIds] = [credited.flatMap(({ samples }) => samples), fresh, limited].map(
    (samples) => new Set(samples.map(({ episodeId }) => episodeId)),
  );
  const reasonOf = (episodeId: string, group: Fitness): LeftOutEpisode['reason'] | undefined => {
    if (withSamples?.has(episodeId) !== true) return 'no_samples';
    if (!group.hasGradient) return group.isFinite ? 'no_gradient' : 'non_finite';
    if (freshIds?.has(episodeId) !== true) return 'stale';
    return limitedIds?.has(episodeId) === true ? undefined : 'overlong';
  };
  return credited.flatMap(({ group, ...fitness }) =>
    group.episodes.flatMap(({ episodeId }) => {
      const reason = reasonOf(episodeId, fitness);
      return reason === undefined ? [] : [{ episodeId, reason }];
    }),
  );
}

type Fitness = Pick<CreditedGroup<TrainingGroup>, 'hasGradient' | 'isFinite'>;
