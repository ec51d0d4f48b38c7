import { FinishedGroups } from '../finished-groups.js';
import { applyRecord } from '../fold.js';
import { createState, type LedgerState } from '../state.js';
import type { StoreEntry } from './store-entry.js';
import type { Store } from './store.js';

export type FoldedStore = {
  readonly state: LedgerState;
  /** The number that the next record gets. */
  readonly nextSequence: number;
};

/**
 * Folds a store into its state. An entry that exists several times is applied once; `onEntry` is called for each entry
 * that is applied. Finished groups are read from the store again on demand, so the store must stay open as long as the
 * state is used.
 */
export function foldStore(
  store: Pick<Store, 'files' | 'read' | 'find'>,
  onEntry?: (entry: StoreEntry) => void,
): FoldedStore {
  const state = createState(createFinished(store));
  const numbers = store.files().map(({ number }) => number);
  let last = -1;
  for (const number of numbers) {
    for (const entry of store.read(number, 'finished')) {
      applyRecord(state, entry.record);
      settleFinished(state, [entry]);
      last = Math.max(last, entry.sequence);
    }
  }
  let applied = -1;
  for (const entry of inOrder(store, numbers)) {
    const { record, sequence } = entry;
    if (sequence <= applied) continue;
    applied = sequence;
    applyRecord(state, record);
    onEntry?.(entry);
  }
  return { state, nextSequence: Math.max(last, applied) + 1 };
}

/** Call this once the entries are committed, so that memory can drop their records of finished groups. */
export function settleFinished({ finished }: LedgerState, entries: readonly StoreEntry[]): void {
  for (const { sequence, record } of entries) if (record.kind === 'finished') finished.settle(sequence, record);
}

function createFinished(store: Pick<Store, 'find'>): FinishedGroups {
  return new FinishedGroups((sequence) => {
    const record = store.find(sequence, 'finished')?.record;
    return record?.kind === 'finished' ? record : undefined;
  });
}

/**
 * Yields the events of all files by sequence. Carried entries, which were copied from removed files, are inserted at
 * their numbers.
 */
function* inOrder(store: Pick<Store, 'read'>, numbers: readonly number[]): Generator<StoreEntry> {
  const carried = numbers.flatMap((number) => [...store.read(number, 'carried')]).sort(bySequence);
  let next = 0;
  for (const number of numbers) {
    for (const entry of store.read(number, 'events')) {
      for (; (carried[next]?.sequence ?? Infinity) < entry.sequence; next++) yield carried[next] as StoreEntry;
      yield entry;
    }
  }
  yield* carried.slice(next);
}

const bySequence = (a: StoreEntry, b: StoreEntry): number => a.sequence - b.sequence;
