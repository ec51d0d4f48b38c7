import { expect, it, vi } from 'vitest';
import { Ledger } from '../ledger.js';
import { accountOf } from '../account.js';
import { scheduleOf } from '../state.js';
import { MemoryDisk, MemoryStore, type DiskFaults, type DiskOperation } from '../testing/memory-store.js';
import { foldStore } from './fold-store.js';
import { recover } from './recover.js';
import { FileRetirement } from './retention.js';
import { StoreWriter } from './store-writer.js';

async function openLedger(disk: MemoryDisk, faults: Partial<DiskFaults> = {}) {
  const store = new MemoryStore(disk, { faults });
  const { state, nextSequence, conclusions } = await recover(store);
  const failures: string[] = [];
  const writer = new StoreWriter(store, {
    nextSequence,
    maxFileBytes: Infinity,
    maxFileEntries: Infinity,
    onFailure: ({ code }) => failures.push(code),
  });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  if (conclusions.length > 0) ledger.append(...conclusions);
  await writer.synced();
  const sample = (groupId: string, draw: number): void => {
    ledger.openGroup({ groupId, taskId: groupId, numPlaces: 1, draw });
    ledger.claim({ groupId, place: 0 }, { episodeId: `${groupId}-e`, seed: 0 });
    ledger.end(`${groupId}-e`, { status: 'completed', reward: 1 });
  };
  const train = (...groupIds: readonly string[]): void => {
    const { step } = ledger.assign(groupIds.map((groupId) => ledger.group(groupId)));
    ledger.conclude(step, 0, { isApplied: true });
  };
  const retirement = new FileRetirement({ store, ledger, writer });
  const retire = (oldest: number): Promise<readonly number[]> => retirement.retire(oldest);
  return { store, writer, ledger, sample, train, retire, failures };
}

it('removes a file once its groups are finished, and keeps the fate of their episodes', async () => {
  const disk = new MemoryDisk();
  const { store, ledger, writer, sample, train, retire } = await openLedger(disk);
  sample('a', 0);
  train('a');
  await writer.synced();
  await store.roll();
  expect(await retire(0)).toEqual([]); // no checkpoint contains step 1
  ledger.append({ kind: 'checkpoint', step: 1 });
  expect(await retire(1)).toEqual([0]);
  expect(ledger.account).toEqual(accountOf(ledger.state));
  const { state } = foldStore(new MemoryStore(disk));
  expect(state.finished.episode('a-e')).toMatchObject({ fate: 'trained', step: 1 });
  expect([state.step, scheduleOf(state).nextDraw, state.bootId]).toEqual([1, 1, 'boot-1']);
  expect(accountOf(state)).toEqual(accountOf(ledger.state));
});

it('keeps a file whose manifest decides about a group with records in an older file', async () => {
  const disk = new MemoryDisk();
  const { store, ledger, writer, sample, train, retire } = await openLedger(disk);
  sample('a', 0);
  ledger.openGroup({ groupId: 'straggler', taskId: 's', numPlaces: 1, draw: 1 });
  await writer.synced();
  await store.roll();
  sample('b', 2);
  train('a', 'b');
  await writer.synced();
  await store.roll();
  ledger.append({ kind: 'checkpoint', step: 1 });
  expect(await retire(1)).toEqual([1]); // the straggler keeps file 0
  const { state } = foldStore(new MemoryStore(disk));
  expect(accountOf(state)).toMatchObject({ trained: 2, pooled: 0 });
  expect(state.finished.has('a')).toBe(true);
});

it('changes nothing if a removed file comes back after a power cut', async () => {
  const disk = new MemoryDisk();
  const { store, ledger, writer, sample, train, retire } = await openLedger(disk);
  sample('a', 0);
  train('a');
  await writer.synced();
  await store.roll();
  ledger.append({ kind: 'checkpoint', step: 1 });
  expect(await retire(1)).toEqual([0]);
  const before = accountOf(ledger.state);
  disk.cutPower();
  expect(disk.files.map(({ number }) => number)).toEqual([0, 1]);
  expect(accountOf(foldStore(new MemoryStore(disk)).state)).toEqual(before);
});

it('drops attempts that were running when the machine went down, and records that once', async () => {
  const disk = new MemoryDisk();
  const first = await openLedger(disk);
  first.ledger.openGroup({ groupId: 'a', taskId: 'a', numPlaces: 1 });
  first.ledger.claim({ groupId: 'a', place: 0 }, { episodeId: 'e', seed: 0 });
  await first.writer.synced();
  const killed = await openLedger(disk);
  expect(killed.ledger.episode('e').state).toBe('running'); // only the process was lost
  disk.cutPower();
  const restarted = await openLedger(disk);
  expect(restarted.ledger.episode('e').reason).toBe('machine_restarted');
  expect(foldStore(restarted.store).state.bootId).toBe('boot-2');
});

it('rejects every waiter if the disk fails, and a recovery secures the entries that may not be synced', async () => {
  let isBroken = false;
  const disk = new MemoryDisk();
  const fails = (operation: DiskOperation): boolean => operation === 'sync' && isBroken;
  const { ledger, writer, sample, failures } = await openLedger(disk, { fails });
  isBroken = true;
  sample('a', 0);
  await expect(writer.synced()).rejects.toMatchObject({ code: 'failed' });
  await expect(writer.committed()).rejects.toMatchObject({ code: 'failed' });
  expect(failures).toEqual(['failed']);
  isBroken = false;
  const again = await openLedger(disk);
  expect(accountOf(again.ledger.state)).toEqual(accountOf(ledger.state));
  disk.cutPower();
  expect(accountOf(foldStore(new MemoryStore(disk)).state)).toEqual(accountOf(ledger.state));
});

it('keeps a file if most of its records would have to be written again', async () => {
  const disk = new MemoryDisk();
  const { store, ledger, writer, sample, train, retire } = await openLedger(disk);
  for (let index = 0; index < 10; index++)
    ledger.append({ kind: 'task', taskId: `t${index}`, index, hash: '', content: {} });
  sample('a', 0);
  train('a');
  await writer.synced();
  await store.roll();
  sample('b', 1);
  train('b');
  await writer.synced();
  await store.roll();
  expect(await retire(2)).toEqual([1]);
  expect([...ledger.state.groups.keys()]).toEqual([]); // the groups of the kept file are finished all the same
  const { state } = foldStore(new MemoryStore(disk));
  expect(accountOf(state)).toEqual(accountOf(ledger.state));
  expect([state.tasks.size, state.groups.size, state.finished.size]).toEqual([10, 0, 2]);
});

it('reads a large file in parts, and does not read it again while the same record keeps it', async () => {
  const { store, ledger, writer, sample, train } = await openLedger(new MemoryDisk());
  for (let draw = 0; draw < 200; draw++) sample(`g${draw}`, draw);
  train(...Array.from({ length: 199 }, (_none, draw) => `g${draw}`));
  await writer.synced();
  await store.roll();
  const read = vi.spyOn(store, 'read');
  const retirement = new FileRetirement({ store, ledger, writer });
  let numTurns = 0;
  const count = (): void => {
    numTurns++;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  expect(await retirement.retire(1)).toEqual([]); // g199 is in no step
  expect(numTurns).toBeGreaterThanOrEqual(2); // of 602 records, 256 are read at once
  const numReads = read.mock.calls.length;
  expect(await retirement.retire(1)).toEqual([]);
  expect(read.mock.calls).toHaveLength(numReads);
  train('g199');
  expect(await retirement.retire(2)).toEqual([0]);
  clearImmediate(turn);
});

it('removes each file once if it is called again meanwhile', async () => {
  const { store, ledger, writer, sample, train } = await openLedger(new MemoryDisk());
  sample('a', 0);
  train('a');
  await writer.synced();
  await store.roll();
  const retirement = new FileRetirement({ store, ledger, writer });
  expect(await Promise.all([retirement.retire(1), retirement.retire(1)])).toEqual([[0], []]);
});
