import type { DropReason } from './drop-reasons.js';
import { episodePart, policiesOf, type EpisodePart } from './policies.js';
import type { LedgerEpisode, LedgerState } from './state.js';

/**
 * Counts of all acknowledged episodes by their state. An episode is acknowledged once the ledger has accepted its end.
 * The counts satisfy `acknowledged = trained + assigned + pooled + unscored + evaluated + dropped`.
 */
export type Account = {
  readonly acknowledged: number;
  readonly trained: number;
  readonly assigned: number;
  readonly pooled: number;
  readonly unscored: number;
  readonly evaluated: number;
  readonly dropped: number;
  /** Acknowledged episodes that were dropped, by reason. */
  readonly droppedByReason: Readonly<Partial<Record<DropReason, number>>>;
  /** Episodes that were claimed, and neither ended nor dropped. */
  readonly running: number;
  /** Episodes that were claimed, and dropped before an end was accepted. */
  readonly unfinished: number;
};

/**
 * Counts one policy's parts of episodes. Without `policy`, it counts whole episodes. A whole episode is trained once
 * any policy has trained it.
 */
export function accountOf(state: LedgerState, policy?: string): Account {
  const { unfinished: lost, droppedByReason: reasons, ...over } = state.finished.countsOf(policy);
  const counts = { assigned: 0, pooled: 0, ended: 0, running: 0, ...over };
  const droppedByReason: Partial<Record<DropReason, number>> = { ...reasons };
  let unfinished = lost;
  const add = (fate: keyof typeof counts, isAcknowledged: boolean, reason: DropReason | undefined): void => {
    if (fate === 'dropped' && !isAcknowledged) unfinished++;
    else counts[fate]++;
    if (fate === 'dropped' && isAcknowledged && reason !== undefined) {
      droppedByReason[reason] = (droppedByReason[reason] ?? 0) + 1;
    }
  };
  for (const episode of state.episodes.values()) {
    const part = partOf(state, episode, policy);
    if (part !== undefined) add(part.state, episode.end !== undefined, part.reason);
  }
  const { ended: unscored, running, ...others } = counts;
  const acknowledged = Object.values(others).reduce((sum, count) => sum + count, unscored);
  return { acknowledged, ...others, unscored, droppedByReason, running, unfinished };
}

/** Returns the policy's part of the episode, or undefined if the policy has no part in it. */
function partOf(state: LedgerState, episode: LedgerEpisode, policy: string | undefined): EpisodePart | undefined {
  if (policy === undefined) return episode;
  const group = state.groups.get(episode.groupId);
  return group !== undefined && policiesOf(group).includes(policy) ? episodePart(episode, policy) : undefined;
}
