import type { Sample } from '@agentjet/core';
import type { CreditedGroup } from './credit-groups.js';
import type { TrainingGroup } from './training-group.js';

/**
 * An episode of the batch that the step does not train: its group has no gradient (all rewards equal), it has no
 * samples, it is older than the staleness limit, or the length policy dropped it.
 */
export type LeftOutEpisode = {
  readonly episodeId: string;
  readonly reason: 'no_gradient' | 'no_samples' | 'stale' | 'overlong';
};

/** `fresh`: samples that are not stale; `limited`: those of them that the length policy kept. */
export function findLeftOut(
  credited: readonly CreditedGroup<TrainingGroup>[],
  { fresh, limited }: { readonly fresh: readonly Sample[]; readonly limited: readonly Sample[] },
): LeftOutEpisode[] {
  const [withSamples, freshIds, limitedIds] = [credited.flatMap(({ samples }) => samples), fresh, limited].map(
    (samples) => new Set(samples.map(({ episodeId }) => episodeId)),
  );
  const reasonOf = (episodeId: string, hasGradient: boolean): LeftOutEpisode['reason'] | undefined => {
    if (withSamples?.has(episodeId) !== true) return 'no_samples';
    if (!hasGradient) return 'no_gradient';
    if (freshIds?.has(episodeId) !== true) return 'stale';
    return limitedIds?.has(episodeId) === true ? undefined : 'overlong';
  };
  return credited.flatMap(({ group, hasGradient }) =>
    group.episodes.flatMap(({ episodeId }) => {
      const reason = reasonOf(episodeId, hasGradient);
      return reason === undefined ? [] : [{ episodeId, reason }];
    }),
  );
}
