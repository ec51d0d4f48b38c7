import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ledger, LmdbStore, recover, StoreWriter } from '@agentjet/ledger';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { verifyRunStore } from './verify-store.js';

let run = '';
let lines: string[] = [];
beforeEach(async () => {
  run = await mkdtemp(path.join(tmpdir(), 'verify-'));
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(run, { recursive: true, force: true });
});

async function writeRun(): Promise<void> {
  const store = await LmdbStore.open(path.join(run, 'ledger'));
  const { state, nextSequence, conclusions } = await recover(store);
  const options = { nextSequence, maxFileBytes: Infinity, maxFileEntries: Infinity, onFailure: () => {} };
  const writer = new StoreWriter(store, options);
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  ledger.append(...conclusions);
  for (const [draw, status] of (['completed', 'failed', 'completed'] as const).entries()) {
    const groupId = `g${draw}`;
    ledger.openGroup({ groupId, taskId: groupId, numPlaces: 1, draw });
    ledger.claim({ groupId, place: 0 }, { episodeId: `e${draw}`, seed: 1 });
    ledger.end(`e${draw}`, { status, reward: 1 });
  }
  const { step } = ledger.assign([ledger.group('g0')]);
  ledger.conclude(step, 0, { isApplied: true });
  await writer.synced();
  await store.close();
}

it('says where every acknowledged episode is', async () => {
  await writeRun();
  expect(await verifyRunStore(run, {})).toBe(0);
  expect(lines.join('\n')).toBe(
    [
      'The ledger is sound: 1 steps, incarnation 0.',
      '3 acknowledged = 1 trained + 0 assigned + 1 pooled + 0 unscored + 0 evaluated + 1 dropped',
      'dropped: 1 failed',
      '0 running, 0 lost before they ended',
    ].join('\n'),
  );
  await verifyRunStore(path.join(run, 'ledger'), { json: true });
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    sound: true,
    acknowledged: 3,
    dropped_by_reason: { failed: 1 },
  });
});

it('says that an emptied or removed file is missing', async () => {
  await writeRun();
  const file = path.join(run, 'ledger', '000000.mdb');
  for (const damage of [() => truncate(file), () => rm(file)]) {
    await damage();
    expect(await verifyRunStore(run, { json: true })).toBe(1);
    const problem = expect.stringContaining('its file 000000.mdb is missing or empty') as string;
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ sound: false, problem });
  }
});

it('names the first record that is wrong', async () => {
  await writeRun();
  const store = await LmdbStore.open(path.join(run, 'ledger'), { takeOver: true });
  await store.takeOver();
  const record = { kind: 'drop', groupId: 'g0', episodeId: 'e0', reason: 'abandoned', isCounted: true } as const;
  await store.commit([{ sequence: 1000, record }]);
  await store.close();
  expect(await verifyRunStore(run, { json: true })).toBe(1);
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
    sound: false,
    problem: 'The ledger contradicts itself: episode "e0" was dropped after it was trained.',
  });
});

it('says that there is no ledger', async () => {
  await expect(verifyRunStore(run, {})).rejects.toThrow(`${run} has no ledger`);
});
