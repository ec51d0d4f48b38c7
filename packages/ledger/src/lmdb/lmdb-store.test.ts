import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Key } from 'lmdb';
import { expect, it, vi } from 'vitest';
import { foldStore } from '../store/fold-store.js';
import { putMeta } from '../testing/put-meta.js';
import { checkpoint, storeCases } from '../testing/store-cases.js';
import { inFolder } from '../testing/in-folder.js';
import { LmdbFile } from './lmdb-file.js';
import { LmdbStore } from './lmdb-store.js';
import { requireLocalDisk } from './require-local-disk.js';

storeCases('a store on disk', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'ledger-'));
  return {
    open: () => LmdbStore.open(dir, { takeOver: true }),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
});

async function writeOne(dir: string): Promise<void> {
  const store = await LmdbStore.open(dir);
  await store.takeOver();
  await store.commit([checkpoint(1)]);
  await store.sync();
  await store.close();
}

it('refuses a second server while the first is alive, and lets the next one in once it is gone', () =>
  inFolder(async (dir) => {
    const program = `import { LmdbStore } from ${JSON.stringify(path.join(import.meta.dirname, 'lmdb-store.ts'))};
      const store = await LmdbStore.open(${JSON.stringify(dir)});
      await store.takeOver().then(() => console.log('taken'), (error) => console.log(error.code, error.message));
      await store.close();`;
    const run = (): string =>
      execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(run()).toContain('taken');
    expect(run()).toContain('taken'); // the first process is gone
    const mine = await LmdbStore.open(dir);
    await mine.takeOver();
    expect(run()).toContain(`owned The store is in use by process ${process.pid}`);
    await mine.close();
  }));

it('lets the process exit at any moment without losing committed entries', () =>
  inFolder(async (dir) => {
    const program = `import { LmdbStore } from ${JSON.stringify(path.join(import.meta.dirname, 'lmdb-store.ts'))};
      const store = await LmdbStore.open(process.argv[1]);
      await store.takeOver();
      let step = 0;
      for (;;) {
        await store.commit([{ sequence: step + 1, record: { kind: 'checkpoint', step: step + 1 } }]);
        if (++step === 1) setTimeout(() => { console.log(step); process.exit(7); }, 40 * Math.random());
      }`;
    const exits = Array.from({ length: 6 }, async (_none, index) => {
      const folder = path.join(dir, String(index));
      const args = ['--import', 'tsx', '--input-type=module', '-e', program, folder];
      const ended = promisify(execFile)(process.execPath, args, { timeout: 60_000, killSignal: 'SIGKILL' });
      const { code, stdout } = await ended.then(
        () => ({ code: 0, stdout: '' }),
        (error: { readonly code: number | null; readonly stdout: string }) => error,
      );
      const store = await LmdbStore.open(folder, { isReadOnly: true });
      const { step } = foldStore(store).state;
      await store.close();
      return { code, isWhole: Number(stdout) > 0 && step >= Number(stdout) };
    });
    expect(await Promise.all(exits)).toEqual(exits.map(() => ({ code: 7, isWhole: true })));
  }));

it('says which record is damaged', () =>
  inFolder(async (dir) => {
    await writeOne(dir);
    const { open } = await import('lmdb');
    const database = open<Buffer>({ path: path.join(dir, '000000.mdb'), encoding: 'binary' });
    const bytes = Buffer.from(database.get(['events', 1]) ?? []);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 1, bytes.length - 2);
    await database.put(['events', 1], bytes);
    await database.close();
    const store = await LmdbStore.open(dir, { isReadOnly: true });
    expect(() => foldStore(store)).toThrow(/Entry 1 of .*000000\.mdb is damaged/);
    await store.close();
  }));

it.each(['agentjet-ledger-1', 'agentjet-ledger-7'])('refuses a store of format %s and names who reads it', (older) =>
  inFolder(async (dir) => {
    await writeOne(dir);
    await putMeta(path.join(dir, '000000.mdb'), 'format', older);
    const message = expect.stringMatching(new RegExp(`${older}.*older format.*commit e2a79bc1`));
    await expect(LmdbStore.open(dir)).rejects.toMatchObject({ code: 'other_format', message });
  }),
);

it('refuses a store of another format', () =>
  inFolder(async (dir) => {
    await writeOne(dir);
    await putMeta(path.join(dir, '000000.mdb'), 'format', 'agentjet-ledger-9');
    await expect(LmdbStore.open(dir)).rejects.toMatchObject({
      code: 'other_format',
      message: expect.stringContaining('is a store of format "agentjet-ledger-9"'),
    });
  }));

it('refuses file systems that do not guarantee locks and syncs', () => {
  expect(() => requireLocalDisk('/mnt/share', () => 0x6969)).toThrow(
    'The store must be on a local disk, and /mnt/share is on nfs',
  );
  expect(() => requireLocalDisk('/tmp', () => 0xef53)).not.toThrow();
});

it('says when the disk is nearly full', () =>
  inFolder(async (dir) => {
    const roomy = await LmdbStore.open(dir, { minFreeBytes: 1 });
    const full = await LmdbStore.open(path.join(dir, 'full'), { minFreeBytes: 2 ** 60 });
    expect([roomy.hasRoom(), full.hasRoom()]).toEqual([true, false]);
    const usual = await LmdbStore.open(path.join(dir, 'usual'));
    await usual.takeOver();
    expect([2 ** 20, 2 ** 60].map((bytes) => usual.hasRoomFor(bytes))).toEqual([true, false]);
    await usual.close();
    await roomy.close();
    await full.close();
  }));

it('is copied while it is written, and the copy can be continued', () =>
  inFolder(async (dir) => {
    const store = await LmdbStore.open(path.join(dir, 'live'));
    await store.takeOver();
    await store.commit([checkpoint(1)]);
    await store.roll();
    await store.commit([checkpoint(2)]);
    await store.sync();
    const reader = await LmdbStore.open(path.join(dir, 'live'), { isReadOnly: true });
    await reader.backup(path.join(dir, 'copy'));
    await reader.close();
    await store.commit([checkpoint(3)]);
    const copy = await LmdbStore.open(path.join(dir, 'copy'), { takeOver: true });
    await copy.takeOver();
    expect([foldStore(copy).state.step, foldStore(store).state.step]).toEqual([2, 3]);
    await copy.close();
    await store.close();
  }));

it('records which commits LMDB has synced by itself, so that a recovery does not write them again', () =>
  inFolder(async (dir) => {
    vi.useFakeTimers({ toFake: ['setInterval'] }); // stops the heartbeat, which syncs too
    try {
      const store = await LmdbStore.open(dir, { takeOver: true });
      await store.takeOver();
      const { open } = await import('lmdb');
      const reader = open<Buffer>({ path: path.join(dir, '000000.mdb'), encoding: 'binary', readOnly: true });
      const numSynced = (): number => Number(reader.get(['meta', 'synced'])?.subarray(4) ?? 0);
      let sequence = 0;
      while (numSynced() === 0) await store.commit([checkpoint(sequence++)]);
      await reader.close();
      await store.close();
      const next = await LmdbStore.open(dir, { takeOver: true });
      await next.takeOver();
      await next.secure();
      const rewritten = [...next.read(1, 'events')];
      expect(rewritten.length).toBeLessThan(sequence);
      await next.close();
    } finally {
      vi.useRealTimers();
    }
  }));

it('does not open a sealed file again for a reader that has its events', () =>
  inFolder(async (dir) => {
    const store = await LmdbStore.open(dir);
    await store.takeOver();
    await store.commit([checkpoint(1), checkpoint(2)]);
    await store.roll();
    await store.close();
    const { open } = await import('lmdb');
    const opened = vi.fn((readOnly: boolean) => open<Buffer, Key>({ path: sealed, encoding: 'binary', readOnly }));
    const sealed = path.join(dir, '000000.mdb');
    const file = new LmdbFile(0, sealed, opened, true);
    const readAfter = (after: number): readonly number[] =>
      [...file.read('events', after)].map(({ sequence }) => sequence);
    expect([readAfter(1), readAfter(2)]).toEqual([[2], []]);
    for (let count = 0; count < 2; count++) await file.rest(); // lets go of the file
    expect(readAfter(2)).toEqual([]);
    expect(opened).toHaveBeenCalledTimes(1);
    expect(readAfter(0)).toEqual([1, 2]);
    expect(opened).toHaveBeenCalledTimes(2);
    await file.close();
  }));
