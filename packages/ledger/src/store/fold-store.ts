import { applyRecord } from '../fold.js';
import { createState, type LedgerState } from '../state.js';
import type { Entry } from './entry.js';
import type { Store } from './store.js';

export type FoldedStore = {
  readonly state: LedgerState;
  /** The number that the next record gets. */
  readonly nextSequence: number;
};

/**
 * The state that a store stands for. An entry that is there several times is applied once; `onEntry` is told of each that
 * is applied.
 */
export function foldStore(store: Pick<Store, 'files' | 'read'>, onEntry?: (entry: Entry) => void): FoldedStore {
  const state = createState();
  const numbers = store.files().map(({ number }) => number);
  let last = -1;
  const finished = numbers.flatMap((number) => [...store.read(number, 'finished')]).sort(bySequence);
  for (const { record, sequence } of finished) {
    applyRecord(state, record);
    last = Math.max(last, sequence);
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

/** Events of all files, with the carried entries in between where they belong. */
function* inOrder(store: Pick<Store, 'read'>, numbers: readonly number[]): Generator<Entry> {
  const carried = numbers.flatMap((number) => [...store.read(number, 'carried')]).sort(bySequence);
  let next = 0;
  for (const number of numbers) {
    for (const entry of store.read(number, 'events')) {
      for (; (carried[next]?.sequence ?? Infinity) < entry.sequence; next++) yield carried[next] as Entry;
      yield entry;
    }
  }
  yield* carried.slice(next);
}

const bySequence = (a: Entry, b: Entry): number => a.sequence - b.sequence;
