import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { open as openFolder } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import type { Key, open, RootDatabase } from 'lmdb';
import type { Entry } from '../store/entry.js';
import { StoreError } from '../store/store-error.js';
import type { Lane, Store, StoreFile } from '../store/store.js';
import { readBootId } from './boot-id.js';
import { LmdbFile, type FileMeta, type Owner } from './lmdb-file.js';
import { requireLocalDisk } from './require-local-disk.js';
import { requireWhole } from './require-whole.js';

/**
 * A store on a local disk: a folder of numbered LMDB files. Nothing is deleted inside a file; files go as a whole, so
 * their free lists stay small and disk space comes back.
 */
export class LmdbStore implements Store {
  readonly bootId: string;
  readonly #dir: string;
  readonly #options: LmdbStoreOptions;
  readonly #id = randomUUID();
  readonly #open: OpenDatabase;
  readonly #files: LmdbFile[] = [];
  #term = -1;
  #numCommits = 0;
  #numSynced = 0;
  #isNoting = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #room = { askedMs: -Infinity, hasRoom: true };
  /** Between sealing a file and beginning the next one, no file is this store's. */
  #rolling: Promise<void> = Promise.resolve();

  private constructor(dir: string, open: OpenDatabase, options: LmdbStoreOptions) {
    this.#dir = dir;
    this.#open = open;
    this.#options = options;
    this.bootId = options.bootId ?? readBootId();
  }

  /** Opens the store of a folder and makes the folder if need be. LMDB itself is loaded here and nowhere else. */
  static async open(dir: string, options: LmdbStoreOptions = {}): Promise<LmdbStore> {
    if (options.isReadOnly !== true) mkdirSync(dir, { recursive: true });
    if (!existsSync(dir)) throw new StoreError('failed', `There is no store at ${dir}.`);
    requireLocalDisk(dir, options.fileSystemType);
    const lmdb = await import('lmdb');
    const store = new LmdbStore(dir, lmdb.open, options);
    for (const number of numbersIn(dir)) await store.#openFile(number);
    return store;
  }

  async takeOver(): Promise<void> {
    if (this.#files.length === 0) await this.#openFile(0);
    for (;;) {
      await this.#findNewFiles();
      const newest = this.#newest();
      const { isSealed } = newest.readMeta();
      if (isSealed) await this.#openFile(newest.number + 1);
      else if (await this.#takeFile(newest)) break;
    }
    this.#beat();
  }

  async secure(): Promise<void> {
    const old = this.#newest();
    const { numSynced } = old.readMeta();
    const entries = (['finished', 'carried', 'events'] as const).flatMap((lane) => old.readAfter(lane, numSynced));
    if (entries.length === 0) return;
    await this.#begin();
    await this.commit(entries);
    await this.sync();
  }

  files(): readonly StoreFile[] {
    return this.#files.map((file) => ({
      number: file.number,
      bytes: file.bytes,
      get isSealed() {
        return file.readMeta().isSealed;
      },
    }));
  }

  read(number: number, lane: Lane): Iterable<Entry> {
    return this.#files.find((file) => file.number === number)?.read(lane) ?? [];
  }

  find(sequence: number): Entry | undefined {
    for (const file of this.#files.toReversed()) {
      const entry = file.find(sequence);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  async commit(entries: readonly Entry[]): Promise<void> {
    await this.#guard(() =>
      this.#newest().transact((meta) => {
        this.#requireOwner(meta);
        this.#numCommits = meta.numCommits + 1;
        return { numSynced: this.#numSynced };
      }, entries),
    );
    this.#noteFlush();
  }

  async sync(): Promise<void> {
    const upTo = this.#numCommits;
    await this.#guard(() => this.#newest().sync());
    this.#numSynced = upTo;
  }

  async roll(): Promise<void> {
    await this.sync();
    await this.#begin();
  }

  async remove(numbers: readonly number[]): Promise<void> {
    if (!(await this.isOwner())) throw notOwner();
    for (const file of this.#files.filter(({ number }) => numbers.includes(number))) {
      await file.close();
      this.#files.splice(this.#files.indexOf(file), 1);
      for (const suffix of ['', '-lock']) rmSync(file.path + suffix, { force: true });
    }
    const folder = await openFolder(this.#dir, 'r');
    try {
      await folder.sync(); // a removed name is gone for good only when its folder is on the disk
    } finally {
      await folder.close();
    }
  }

  async isOwner(): Promise<boolean> {
    await this.#rolling.catch(() => {}); // its own caller hears of the failure
    const { owner, isSealed } = this.#newest().readMeta();
    return owner?.id === this.#id && !isSealed;
  }

  /** Asks the disk at most once a second. */
  hasRoom(): boolean {
    const now = Date.now();
    if (now - this.#room.askedMs > 1000) {
      const { bavail, bsize } = statfsSync(this.#dir);
      this.#room = { askedMs: now, hasRoom: bavail * bsize >= (this.#options.minFreeBytes ?? minFreeBytes) };
    }
    return this.#room.hasRoom;
  }

  /**
   * Copies all files to a folder, as they are now, while an owner writes them. Sealed files never change, so a later backup needs
   * only those that are new.
   */
  async backup(dir: string): Promise<void> {
    mkdirSync(dir, { recursive: true });
    for (const file of this.#files) {
      const target = path.join(dir, path.basename(file.path));
      if (file.readMeta().isSealed && !existsSync(target)) copyFileSync(file.path, target);
      else if (!file.readMeta().isSealed) await file.backup(target);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    await Promise.all(this.#files.splice(0).map((file) => file.close()));
  }

  /** Seals the newest file, and only then makes the next one, with its owner first. */
  async #begin(): Promise<void> {
    this.#rolling = this.#beginNext();
    await this.#rolling;
  }

  async #beginNext(): Promise<void> {
    await this.#guard(async () => {
      const old = this.#newest();
      await old.transact((meta) => {
        this.#requireOwner(meta);
        return { isSealed: true };
      });
      await old.sync();
      const next = await this.#openFile(old.number + 1);
      await next.transact((meta) => {
        if (meta.owner !== undefined) throw notOwner();
        return { owner: this.#owner(), format };
      });
    });
    this.#numCommits = 1;
    this.#numSynced = 0;
  }

  /** False if the file was sealed in the meantime. */
  async #takeFile(file: LmdbFile): Promise<boolean> {
    let isTaken = false;
    await this.#guard(() =>
      file.transact((meta) => {
        if (meta.isSealed) return {};
        requireFormat(meta, file.path);
        if (this.#options.takeOver !== true) requireDead(meta.owner, this.bootId);
        const before = this.#files.at(-2)?.readMeta().owner?.term ?? -1;
        this.#term = Math.max(meta.owner?.term ?? -1, before) + 1;
        this.#numCommits = meta.numCommits + 1;
        this.#numSynced = meta.numSynced;
        isTaken = true;
        return { owner: this.#owner(), format };
      }),
    );
    return isTaken;
  }

  #beat(): void {
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => {
      this.#writeHeartbeat().catch((error: unknown) => {
        clearInterval(this.#heartbeat);
        this.#options.onLost?.(error);
      });
    }, heartbeatMs).unref();
  }

  async #writeHeartbeat(): Promise<void> {
    await this.#rolling;
    const file = this.#newest();
    let upTo = 0;
    await file.transact((meta) => {
      this.#requireOwner(meta);
      upTo = meta.numCommits + 1;
      this.#numCommits = upTo;
      return { owner: this.#owner(), numSynced: this.#numSynced };
    });
    await this.#syncQuietly(file, upTo);
  }

  /** LMDB brings every commit to the disk, a little later. One wait at a time is enough to know how far it is. */
  #noteFlush(): void {
    if (this.#isNoting) return;
    this.#isNoting = true;
    this.#syncQuietly(this.#newest(), this.#numCommits)
      .catch(() => {}) // then it counts as not synced
      .finally(() => {
        this.#isNoting = false;
      });
  }

  /** What a recovery finds not to be synced it writes again, so not too much should be left, even if nobody asks for a sync. */
  async #syncQuietly(file: LmdbFile, upTo: number): Promise<void> {
    await file.sync();
    if (file === this.#files.at(-1)) this.#numSynced = Math.max(this.#numSynced, upTo);
  }

  #owner(): Owner {
    const { bootId } = this;
    return { id: this.#id, term: this.#term, host: hostname(), pid: process.pid, bootId, heartbeat: Date.now() };
  }

  #requireOwner({ owner, isSealed }: FileMeta): void {
    if (owner?.id !== this.#id || isSealed) throw notOwner();
  }

  #newest(): LmdbFile {
    const file = this.#files.at(-1);
    if (file === undefined) throw new StoreError('closed', 'The store is closed, or nobody has taken it over yet.');
    return file;
  }

  async #openFile(number: number): Promise<LmdbFile> {
    const file = path.join(this.#dir, `${String(number).padStart(6, '0')}.mdb`);
    requireWhole(file);
    const options = { path: file, encoding: 'binary', separateFlushed: true } as const;
    const database = openDatabase(
      () => this.#open<Buffer>({ ...options, readOnly: this.#options.isReadOnly === true }),
      file,
    );
    const opened = new LmdbFile(number, file, database);
    this.#files.push(opened);
    return opened;
  }

  /** Another process may have begun files since this one looked. */
  async #findNewFiles(): Promise<void> {
    const newest = this.#newest().number;
    for (const number of numbersIn(this.#dir)) if (number > newest) await this.#openFile(number);
  }

  async #guard<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const isFull = /MDB_MAP_FULL|ENOSPC|No space/i.test(String(error));
      const repair = isFull ? ' Free disk space; the server goes on by itself.' : '';
      throw new StoreError(isFull ? 'full' : 'failed', `The store at ${this.#dir} failed: ${String(error)}.${repair}`, {
        cause: error,
      });
    }
  }
}

export type LmdbStoreOptions = {
  /** Take over from an owner that may still be alive. */
  readonly takeOver?: boolean;
  readonly isReadOnly?: boolean;
  /** The heartbeat found another owner, or could not be written. */
  readonly onLost?: (error: unknown) => void;
  /** Below this, the store has no room. Default: 256 MiB. */
  readonly minFreeBytes?: number;
  /** For tests: the number that Linux gives a file system (statfs). */
  readonly fileSystemType?: (dir: string) => number;
  /** For tests: which start of the machine this is. */
  readonly bootId?: string;
};

type OpenDatabase = typeof open;

const format = 'agentjet-ledger-4';
/** Their records mean the same to this version, so a store of theirs is gone on with, and is of the present format then. */
const olderFormats: readonly string[] = ['agentjet-ledger-1', 'agentjet-ledger-2', 'agentjet-ledger-3'];
/** For tests: what can be gone on with; the present format is the last one. */
export const readableFormats: readonly string[] = [...olderFormats, format];
const minFreeBytes = 256 * 2 ** 20;
const heartbeatMs = 5000;
const deadAfterMs = 30_000;

function openDatabase(open: () => RootDatabase<Buffer, Key>, file: string): RootDatabase<Buffer, Key> {
  try {
    return open();
  } catch (error) {
    throw new StoreError('damaged', `${file} cannot be opened as a store: ${toErrorMessage(error)}. ${restore}`, {
      cause: error,
    });
  }
}

const restore = 'Restore the store from a copy, or start a new run from the newest checkpoint.';

const notOwner = (): StoreError =>
  new StoreError('not_owner', 'Another server has taken the store over; this one stops.');

function numbersIn(dir: string): readonly number[] {
  const found = readdirSync(dir).flatMap((name) => /^(\d{6})\.mdb$/.exec(name)?.[1] ?? []);
  return found.map(Number).sort((a, b) => a - b);
}

function requireFormat(meta: FileMeta, file: string): void {
  if (meta.format === undefined || meta.format === format || olderFormats.includes(meta.format)) return;
  throw new StoreError(
    'other_format',
    `${file} is a store of format ${JSON.stringify(meta.format)}; this version reads ${JSON.stringify(format)}. Use the version that wrote it, or begin a new run.`,
  );
}

/** An owner is dead if its process is gone from this machine, or if it has been silent for long enough. */
function requireDead(owner: Owner | undefined, bootId: string): void {
  if (owner === undefined || Date.now() - owner.heartbeat > deadAfterMs) return;
  if (owner.host === hostname() && (owner.bootId !== bootId || !isAlive(owner.pid))) return;
  throw new StoreError(
    'owned',
    `The store is in use by process ${owner.pid} on ${owner.host}. Stop it, or pass --take-over if it is not there any more.`,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid; // an earlier store of this very process was closed or forgotten
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
