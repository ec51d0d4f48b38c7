import { cpSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Ledger } from '../ledger.js';
import { recover } from '../store/recover.js';
import { StoreError } from '../store/store-error.js';
import { StoreWriter } from '../store/store-writer.js';
import { drawDamage, readWhole } from '../testing/damage.js';
import { inFolder } from '../testing/in-folder.js';
import { LmdbStore } from './lmdb-store.js';
import { headOf } from './store-head.js';

/** Writes a store of two files, with entries larger than a page and a list of free pages. */
async function write(dir: string): Promise<void> {
  const store = await LmdbStore.open(dir);
  const { state, nextSequence, conclusions } = await recover(store);
  const writer = new StoreWriter(store, {
    nextSequence,
    maxFileBytes: 2 ** 30,
    maxFileEntries: 200,
    onFailure: () => undefined,
  });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  ledger.append(...conclusions);
  for (let group = 0; group < 40; group++) {
    const groupId = `g${group}`;
    ledger.openGroup({ groupId, taskId: groupId, numPlaces: 2, draw: group });
    for (const place of [0, 1]) {
      const episodeId = `${groupId}-${place}`;
      ledger.claim({ groupId, place }, { episodeId, seed: 0 });
      ledger.end(episodeId, { status: 'completed', reward: 1, content: 'x'.repeat(group * 150) });
      await writer.synced();
    }
  }
  await store.close();
}

/** Returns `damaged` if the store reports damage, and otherwise the hash of everything that a reader reads. */
async function outcomeOf(dir: string): Promise<string> {
  try {
    const { verdict, hash } = await readWhole(dir);
    return verdict.isSound ? hash : 'damaged';
  } catch (error) {
    if (error instanceof StoreError && ['damaged', 'other_format'].includes(error.code)) return 'damaged';
    throw error;
  }
}

it('says so if any page, file or commit is missing or broken, and never crashes', () =>
  inFolder(async (dir) => {
    const sound = path.join(dir, 'sound');
    await write(sound);
    const { hash } = await readWhole(sound);
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const silent: string[] = [];
    let noticed = 0;
    for (let round = 0; round < 60; round++) {
      const copy = path.join(dir, 'copy');
      cpSync(sound, copy, { recursive: true });
      const damage = drawDamage(copy, random);
      const outcome = await outcomeOf(copy);
      if (outcome === 'damaged') noticed++;
      else if (outcome !== hash) silent.push(damage);
      rmSync(copy, { recursive: true });
    }
    expect(silent).toEqual([]);
    expect(noticed).toBeGreaterThan(20);
  }));

const damages: readonly (readonly [string, (dir: string) => void, RegExp])[] = [
  ['its newest file is missing', (dir) => rmSync(path.join(dir, '000001.mdb')), /000001\.mdb is missing or empty/],
  [
    'its newest file is empty',
    (dir) => truncateSync(path.join(dir, '000001.mdb'), 0),
    /000001\.mdb is missing or empty/,
  ],
  ['an older file is missing', (dir) => rmSync(path.join(dir, '000000.mdb')), /000000\.mdb is missing or empty/],
  ['its head is missing', (dir) => rmSync(headOf(dir)), /its file "head" is missing/],
  ['its head is broken', (dir) => writeFileSync(headOf(dir), 'head'), /does not say where the store ends/],
];

it.each(damages)('is refused by a reader and by a server if %s', (_what, damage, message) =>
  inFolder(async (dir) => {
    await write(dir);
    damage(dir);
    for (const isReadOnly of [true, false])
      await expect(LmdbStore.open(dir, { isReadOnly, takeOver: true })).rejects.toMatchObject({
        code: 'damaged',
        message: expect.stringMatching(message),
      });
  }),
);
