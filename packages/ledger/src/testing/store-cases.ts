import { describe, expect, it } from 'vitest';
import type { LedgerRecord } from '../records.js';
import type { StoreEntry } from '../store/store-entry.js';
import { foldStore } from '../store/fold-store.js';
import type { Store } from '../store/store.js';

/** A file or memory in which a store can be opened, closed and opened again. */
export type StorePlace = {
  /** Opens another store on the same files, as another process would. */
  readonly open: () => Promise<Store>;
  readonly remove: () => Promise<void>;
};

/** The contract of every Store. `createPlace` makes an empty place for each case. */
export function storeCases(name: string, createPlace: () => Promise<StorePlace>): void {
  describe(name, () => {
    it.each(cases.map((each) => [each.behaviour, each] as const))('%s', async (_behaviour, { check }) => {
      const place = await createPlace();
      const store = await place.open();
      try {
        await store.takeOver();
        await store.secure();
        await check(store, place);
      } finally {
        await store.close();
        await place.remove();
      }
    });
  });
}

type StoreCase = {
  readonly behaviour: string;
  readonly check: (store: Store, place: StorePlace) => Promise<void>;
};

const cases: readonly StoreCase[] = [
  {
    behaviour: 'keeps what was committed, in the order of its numbers',
    check: async (store, place) => {
      await store.commit([checkpoint(3), checkpoint(1)]);
      await store.commit([checkpoint(2)]);
      await store.sync();
      expect(sequencesIn(store)).toEqual([[1, 2, 3]]);
      await store.close();
      const again = await place.open();
      await again.takeOver();
      await again.secure();
      expect(new Set(sequencesIn(again).flat())).toEqual(new Set([1, 2, 3]));
      expect(foldStore(again)).toMatchObject({ nextSequence: 4, state: { step: 3 } });
      await again.close();
    },
  },
  {
    behaviour: 'finds an event by its number, in whichever file it is',
    check: async (store) => {
      await store.commit([checkpoint(1)]);
      await store.roll();
      await store.commit([checkpoint(2)]);
      expect([store.find(1), store.find(2), store.find(3)]).toEqual([checkpoint(1), checkpoint(2), undefined]);
    },
  },
  {
    behaviour: 'keeps lanes apart',
    check: async (store) => {
      await store.commit([checkpoint(1), { ...checkpoint(7), isCarried: true }, finished(5)]);
      const file = store.files().at(-1)?.number ?? 0;
      const lanes = (['events', 'carried', 'finished'] as const).map((lane) => [...store.read(file, lane)]);
      expect(lanes).toEqual([[checkpoint(1)], [{ ...checkpoint(7), isCarried: true }], [finished(5)]]);
    },
  },
  {
    behaviour: 'seals a file and continues in another, and reads both',
    check: async (store) => {
      await store.commit([checkpoint(1)]);
      await store.roll();
      await store.commit([checkpoint(2)]);
      const [first, second] = store.files().slice(-2);
      expect([first?.isSealed, second?.isSealed]).toEqual([true, false]);
      expect(sequencesIn(store).slice(-2)).toEqual([[1], [2]]);
    },
  },
  {
    behaviour: 'removes a sealed file for good',
    check: async (store) => {
      await store.commit([checkpoint(1)]);
      await store.roll();
      await store.commit([checkpoint(2)]);
      await store.remove([store.files().at(-2)?.number ?? -1]);
      expect(sequencesIn(store)).toEqual([[2]]);
    },
  },
  {
    behaviour: 'refuses every write of an owner that was deposed',
    check: async (store, place) => {
      await store.commit([checkpoint(1)]);
      const other = await place.open();
      await other.takeOver();
      expect([await store.isOwner(), await other.isOwner()]).toEqual([false, true]);
      for (const write of [store.commit([checkpoint(2)]), store.roll()]) {
        await expect(write).rejects.toMatchObject({ code: 'not_owner' });
      }
      await other.commit([checkpoint(3)]);
      expect(sequencesIn(other).flat()).toEqual([1, 3]);
      await other.close();
    },
  },
  {
    behaviour: 'deposes an owner that has just begun a new file',
    check: async (store, place) => {
      await store.commit([checkpoint(1)]);
      const other = await place.open();
      await store.roll();
      await other.takeOver();
      await expect(store.commit([checkpoint(2)])).rejects.toMatchObject({ code: 'not_owner' });
      await expect(store.remove([0])).rejects.toMatchObject({ code: 'not_owner' });
      await other.commit([checkpoint(3)]);
      expect(sequencesIn(other).flat()).toEqual([1, 3]);
      await other.close();
    },
  },
  {
    behaviour: 'copies what is not known to be synced into a new file',
    check: async (store, place) => {
      await store.commit([checkpoint(1)]);
      await store.sync();
      await store.commit([checkpoint(2), finished(3)]);
      const other = await place.open();
      await other.takeOver();
      await other.secure();
      const newest = other.files().at(-1)?.number ?? -1;
      const kept = [...other.read(newest, 'events'), ...other.read(newest, 'finished')];
      expect(kept.map(({ sequence }) => sequence)).toEqual(expect.arrayContaining([2, 3]));
      expect(foldStore(other).nextSequence).toBe(4);
      await other.close();
    },
  },
  {
    behaviour: 'keeps records whole: text of any kind, numbers to the last digit',
    check: async (store) => {
      const changes = { text: 'naïve \u0000 "quoted" 🚀', pi: Math.PI, list: [null, true, { deep: [1e-300] }] };
      const record: LedgerRecord = { kind: 'config', revision: 1, fromStep: 1, requestId: 'r', changes, by: 'k' };
      await store.commit([{ sequence: 1, record }]);
      const file = store.files().at(-1)?.number ?? 0;
      expect([...store.read(file, 'events')]).toEqual([{ sequence: 1, record }]);
      expect([...store.read(file, 'events', 0)]).toEqual([{ sequence: 1, record }]);
      expect([...store.read(file, 'events', 1)]).toEqual([]);
    },
  },
];

export const checkpoint = (sequence: number): StoreEntry => ({
  sequence,
  record: { kind: 'checkpoint', step: sequence },
});

const finished = (sequence: number): StoreEntry => ({
  sequence,
  record: {
    kind: 'finished',
    groupId: `g${sequence}`,
    draw: sequence,
    tryIndex: 0,
    expiries: 0,
    purpose: 'train',
    fate: 'trained',
    returns: false,
    episodes: [],
  },
});

function sequencesIn(store: Store): number[][] {
  const files = store.files().map(({ number }) => [...store.read(number, 'events')].map(({ sequence }) => sequence));
  return files.filter((sequences) => sequences.length > 0);
}
