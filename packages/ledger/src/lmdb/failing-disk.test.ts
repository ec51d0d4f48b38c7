import { execFile } from 'node:child_process';
import fs, { mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { open as openHandle, type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import type { StoreEntry } from '../store/store-entry.js';
import { checkpoint } from '../testing/store-cases.js';
import { recover } from '../store/recover.js';
import { inFolder } from '../testing/in-folder.js';
import { putMeta } from '../testing/put-meta.js';
import { LmdbStore } from './lmdb-store.js';
import { headOf, StoreHead } from './store-head.js';

async function openOwned(dir: string): Promise<LmdbStore> {
  const store = await LmdbStore.open(dir, { takeOver: true });
  await store.takeOver();
  return store;
}

const firstFile = (dir: string): string => path.join(dir, '000000.mdb');

it.runIf(process.platform === 'linux')('says that a write failed, is closed, and can be opened again', () =>
  inFolder(async (dir) => {
    const program = `import { execFileSync } from 'node:child_process';
      import { foldStore } from ${JSON.stringify(path.join(import.meta.dirname, '../store/fold-store.ts'))};
      import { LmdbStore } from ${JSON.stringify(path.join(import.meta.dirname, 'lmdb-store.ts'))};
      const every = globalThis.setInterval;
      globalThis.setInterval = (run) => every(run, 20); // heartbeats
      const checkpoint = (step) => ({ sequence: step, record: { kind: 'checkpoint', step } });
      const limit = (bytes) => execFileSync('prlimit', ['--pid', process.pid, '--fsize=' + bytes + ':']);
      const codeOf = (action) => action.then(() => 'done', (error) => error.code);
      let onLost;
      const lost = new Promise((resolve) => (onLost = resolve));
      const alive = every(() => {}, 1000);
      const store = await LmdbStore.open(process.argv[1], { onLost });
      await store.takeOver();
      await store.commit([checkpoint(1)]);
      limit(4096);
      const codes = [(await lost).code];
      codes.push(await codeOf(store.sync()), await codeOf(store.commit([checkpoint(2)])), await codeOf(store.close()));
      limit('unlimited');
      const next = await LmdbStore.open(process.argv[1]);
      await next.takeOver();
      codes.push(await codeOf(next.commit([checkpoint(3)])), await codeOf(next.sync()), foldStore(next).state.step);
      await next.close();
      clearInterval(alive);
      console.log(JSON.stringify(codes));`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', program, dir];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000, killSignal: 'SIGKILL' });
    expect(JSON.parse(stdout.slice(stdout.lastIndexOf('[')))).toEqual([
      'failed',
      'failed',
      'failed',
      'done',
      'done',
      'done',
      3,
    ]);
  }),
);

it('has no commit in a file before it is on the disk', () =>
  inFolder(async (dir) => {
    const store = await openOwned(dir);
    for (const sequence of [1, 2, 3]) await store.commit([checkpoint(sequence)]);
    const file = readFileSync(firstFile(dir));
    const unsynced = [0, 4096].map((at) => file.readUInt16LE(at + 52) & 0x1000); // the flag of MDB_meta
    expect(unsynced).toEqual([0, 0]);
    await store.close();
  }));

it('writes entries again that may not be synced, even if an earlier recovery was killed after it had sealed the file', () =>
  inFolder(async (dir) => {
    const store = await openOwned(dir);
    await store.commit([checkpoint(1)]);
    await store.commit([checkpoint(2)]);
    await store.close();
    await putMeta(firstFile(dir), 'synced', 0);
    await putMeta(firstFile(dir), 'sealed', true);
    const killed = await openOwned(dir); // this one was killed before it wrote anything
    await killed.close();
    const next = await LmdbStore.open(dir, { takeOver: true });
    await recover(next);
    const newest = next.files().at(-1)?.number ?? 0;
    expect([...next.read(newest, 'events')].map(({ sequence }) => sequence)).toEqual([1, 2]);
    await next.close();
  }));

it('writes nothing again that was synced when its file was sealed', () =>
  inFolder(async (dir) => {
    const store = await openOwned(dir);
    await store.commit([checkpoint(1)]);
    await store.roll();
    await store.close();
    const next = await LmdbStore.open(dir, { takeOver: true });
    await recover(next);
    expect(next.files().map(({ number }) => [...next.read(number, 'events')].length)).toEqual([1, 0]);
    await next.close();
  }));

/** Returns the paths that are synced by name while `body` runs. */
async function syncedIn(body: () => Promise<void>): Promise<readonly string[]> {
  const handle = await openHandle(tmpdir());
  const found: string[] = [];
  const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync').mockImplementation(async function (
    this: FileHandle,
  ) {
    found.push(path.basename(readlinkSync(`/proc/self/fd/${this.fd}`)));
  });
  await handle.close();
  try {
    await body();
  } finally {
    sync.mockRestore();
  }
  return found;
}

it.runIf(process.platform === 'linux')(
  'syncs the names of new files, and a sealed file before the next one is begun',
  () =>
    inFolder(async (above) => {
      const dir = path.join(above, 'runs', 'ledger');
      const begun = await syncedIn(async () => {
        const store = await openOwned(dir);
        await store.commit([checkpoint(1)]);
        await store.roll();
        await store.close();
      });
      expect(begun).toEqual(['runs', path.basename(above), 'ledger', 'ledger']);
      for (const name of [path.join(dir, '000001.mdb'), headOf(dir)]) rmSync(name);
      StoreHead.open(dir).reach({ file: 0, commits: 1 }); // as if killed before it made the second file
      expect(await syncedIn(async () => (await openOwned(dir)).close())).toEqual(['000000.mdb', 'ledger']);
    }),
);

it('is not opened if LMDB would end the process', () =>
  inFolder(async (dir) => {
    await (await openOwned(dir)).close();
    const lock = `${firstFile(dir)}-lock`;
    rmSync(lock);
    await onFullDisk(() => expect(LmdbStore.open(dir)).rejects.toMatchObject({ code: 'full' }));
    mkdirSync(lock);
    await expect(LmdbStore.open(dir)).rejects.toMatchObject({ code: 'failed' });
    rmSync(lock, { recursive: true });
    writeFileSync(firstFile(dir), 'no store'.repeat(2000));
    await expect(LmdbStore.open(dir)).rejects.toMatchObject({ code: 'damaged' });
  }));

it('refuses a commit that does not fit before LMDB begins it, and continues when there is room', () =>
  inFolder(async (dir) => {
    const store = await openOwned(dir);
    const real = fs.writeSync;
    const full = vi.spyOn(fs, 'writeSync').mockImplementation((handle, ...rest: unknown[]) => {
      if (Buffer.isBuffer(rest[0]) && rest[0].length === 2 ** 18)
        throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      return (real as (...all: readonly unknown[]) => number)(handle, ...rest);
    });
    syncBuiltinESMExports();
    const large: StoreEntry = {
      sequence: 1,
      record: { kind: 'memo', groupId: 'g', episodeId: 'e', content: 'x'.repeat(2 ** 20) },
    };
    try {
      await expect(store.commit([large])).rejects.toMatchObject({ code: 'full' });
      await store.commit([checkpoint(2)]);
    } finally {
      full.mockRestore();
      syncBuiltinESMExports();
    }
    await store.commit([large]);
    expect([store.find(1)?.sequence, store.find(2)?.sequence]).toEqual([1, 2]);
    await store.close();
  }));

async function onFullDisk(body: () => Promise<void>): Promise<void> {
  const real = fs.statfsSync;
  const full = vi.spyOn(fs, 'statfsSync').mockImplementation((dir) => ({ ...real(dir), bavail: 0 }));
  syncBuiltinESMExports();
  try {
    await body();
  } finally {
    full.mockRestore();
    syncBuiltinESMExports();
  }
}

it('is not an owner after it was closed', () =>
  inFolder(async (dir) => {
    const store = await openOwned(dir);
    await store.close();
    expect(await store.isOwner()).toBe(false);
  }));
