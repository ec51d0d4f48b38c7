import { FinishedGroups } from '../finished-groups.js';
import { applyRecord } from '../fold.js';
import { createState, type LedgerState } from '../state.js';
import type { StoreEntry } from './entry.js';
import type { Store } from './store.js';

export type FoldedStore = {
  readonly state: LedgerState;
  /** The number that the next record gets. */
  readonly nextSequence: number;
};

/**
 * The state that a store stands for. An entry that is there several times is applied once; `onEntry` is told of each that
 * is applied. What is finished is read from the store again when somebody asks, so the store must stay open as long as the state.
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

/** The entries are committed: what they say of finished groups need not be in memory. */
export function settleFinished({ finished }: LedgerState, entries: readonly StoreEntry[]): void {
  for (const { sequence, record } of entries) if (record.kind === 'finished') finished.settle(sequence, record);
}

function createFinished(store: Pick<Store, 'find'>): FinishedGroups {
  return new FinishedGroups((sequence) => {
    const record = store.find(sequence, 'finished')?.record;
    return record?.kind === 'finished' ? record : undefined;
  });
}

/** Events of all files, with the carried entries in between where they belong. */
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
