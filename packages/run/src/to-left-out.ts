import type { LeftOut } from '@agentjet/ledger';
import type { PreparedBatch } from '@agentjet/trainer';

const reasons = {
  no_gradient: 'nothing_to_train',
  no_samples: 'nothing_to_train',
  non_finite: 'non_finite_gradient',
  stale: 'stale',
  overlong: 'too_long',
} as const;

/** The reason why a step does not train an episode, as a code of the ledger. */
export const toLeftOut = ({ episodeId, reason }: PreparedBatch['leftOut'][number]): LeftOut => ({
  episodeId,
  reason: reasons[reason],
});
