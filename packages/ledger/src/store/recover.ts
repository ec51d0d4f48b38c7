import type { StoreEntry } from './store-entry.js';
import { foldStore } from './fold-store.js';
import type { LedgerRecord } from '../records.js';
import type { LedgerState } from '../state.js';
import type { Store } from './store.js';

export type Recovered = {
  readonly state: LedgerState;
  readonly nextSequence: number;
  /** Append these records in one transaction, and sync the transaction before you answer a request. */
  readonly conclusions: readonly LedgerRecord[];
};

/**
 * Takes a store over and folds it. If the machine restarted since the last finished recovery, committed calls may be
 * lost, and no running episode can be trusted: the conclusions drop these episodes and record the recovery.
 */
export async function recover(store: Store, onEntry?: (entry: StoreEntry) => void): Promise<Recovered> {
  await store.takeOver();
  await store.secure();
  const { state, nextSequence } = foldStore(store, onEntry);
  return { state, nextSequence, conclusions: conclusionsOf(state, store.bootId) };
}

function conclusionsOf(state: LedgerState, bootId: string): readonly LedgerRecord[] {
  if (state.bootId === bootId) return [];
  const running = [...state.episodes.values()].filter((episode) => episode.state === 'running');
  return [
    ...running.map(({ groupId, episodeId }): LedgerRecord => {
      return { kind: 'drop', groupId, episodeId, reason: 'machine_restarted', isCounted: true };
    }),
    { kind: 'recovered', bootId },
  ];
}
