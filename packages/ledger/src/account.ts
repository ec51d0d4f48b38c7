import type { DropReason } from './drop-reasons.js';
import type { LedgerState } from './state.js';

/**
 * Where all acknowledged episodes are. An end that the ledger has accepted is acknowledged, and then
 * `acknowledged = trained + assigned + pooled + unscored + evaluated + dropped`.
 */
export type Account = {
  readonly acknowledged: number;
  readonly trained: number;
  readonly assigned: number;
  readonly pooled: number;
  readonly unscored: number;
  readonly evaluated: number;
  readonly dropped: number;
  /** Reasons of acknowledged episodes that were dropped. */
  readonly droppedByReason: Readonly<Partial<Record<DropReason, number>>>;
  /** Claimed, and neither ended nor dropped. */
  readonly running: number;
  /** Claimed, and dropped before an end was accepted. */
  readonly unfinished: number;
};

export function accountOf(state: LedgerState): Account {
  const counts = { trained: 0, assigned: 0, pooled: 0, ended: 0, evaluated: 0, dropped: 0, running: 0 };
  const droppedByReason: Partial<Record<DropReason, number>> = {};
  let unfinished = 0;
  const add = (fate: keyof typeof counts, isAcknowledged: boolean, reason: DropReason | undefined): void => {
    if (fate === 'dropped' && !isAcknowledged) unfinished++;
    else counts[fate]++;
    if (fate === 'dropped' && isAcknowledged && reason !== undefined) {
      droppedByReason[reason] = (droppedByReason[reason] ?? 0) + 1;
    }
  };
  for (const episode of state.episodes.values()) add(episode.state, episode.end !== undefined, episode.reason);
  for (const episode of state.finishedEpisodes.values()) {
    add(episode.fate, episode.bodyHash !== undefined, episode.reason);
  }
  const { ended: unscored, running, ...others } = counts;
  const acknowledged = Object.values(others).reduce((sum, count) => sum + count, unscored);
  return { acknowledged, ...others, unscored, droppedByReason, running, unfinished };
}
