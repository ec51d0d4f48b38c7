import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSelf, readBootId } from '@agentjet/core/processes';
import type { open } from 'lmdb';
import type { StoreEntry } from '../store/store-entry.js';
import { notOwner, StoreError } from '../store/store-error.js';
import type { Lane, Store, StoreFile } from '../store/store.js';
import { freeBytes, isFull, makeSyncedFolder, syncPath } from './disk.js';
import { requireHead } from './check-pages.js';
import type { LmdbStoreOptions } from './lmdb-store-options.js';
import { LmdbFile, type Change } from './lmdb-file.js';
import { freeSpace, openDatabase, type OpenFile } from './open-database.js';
import { isDead, isSilent, requireDead, type Owner } from './owner.js';
import { requireComplete } from './require-complete.js';
import { format, requireFormat } from './require-format.js';
import { requireLocalDisk } from './require-local-disk.js';
import { headOf, StoreHead } from './store-head.js';

/**
 * A store on a local disk: a folder of numbered LMDB files. Nothing is deleted inside a file; files are removed as a
 * whole, so that their free lists stay small and disk space is released.
 */
export class LmdbStore implements Store {
  readonly bootId: string;
  readonly #dir: string;
  readonly #options: LmdbStoreOptions;
  readonly #id = randomUUID();
  readonly #open: OpenDatabase;
  #head: StoreHead | undefined;
  readonly #files: LmdbFile[] = [];
  #term = -1;
  #numCommits = 0;
  #numSynced = 0;
  #isNoting = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #room = { askedMs: -Infinity, bytes: 0, hasRoom: true };
  /**
   * Settles when no file is being rolled. To roll a file, the store seals it and then makes a new one. Between these
   * two steps, the store owns no file.
   */
  #rolling: Promise<void> = Promise.resolve();

  private constructor(dir: string, open: OpenDatabase, options: LmdbStoreOptions) {
    this.#dir = dir;
    this.#open = open;
    this.#options = options;
    this.bootId = options.bootId ?? readBootId();
  }

  /**
   * Opens the store of a folder, and makes the folder if it is missing. LMDB itself is loaded only here. Throws
   * StoreError `damaged` if a file, a page or a commit is missing or broken.
   */
  static async open(dir: string, options: LmdbStoreOptions = {}): Promise<LmdbStore> {
    if (options.isReadOnly !== true) await makeSyncedFolder(dir);
    if (!existsSync(dir)) throw new StoreError('failed', `There is no store at ${dir}.`);
    requireLocalDisk(dir, options.fileSystemType);
    const store = new LmdbStore(dir, (await import('lmdb')).open, options);
    const numbers = numbersIn(dir);
    try {
      const end = StoreHead.read(dir); // read before the files, which may grow
      // All files except the newest one are sealed.
      for (const number of numbers) {
        const isOlder = number !== numbers.at(-1);
        // A killed process may leave an empty file. `requireComplete` notices a file that was emptied later.
        if (statSync(fileOf(dir, number)).size > 0) await store.#openFile(number, isOlder);
      }
      requireComplete(dir, store.#files, end);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async takeOver(): Promise<void> {
    this.#head ??= await this.#guard(async () => StoreHead.open(this.#dir));
    if (this.#files.length === 0) await this.#openFile(0);
    for (;;) {
      await this.#findNewFiles();
      const newest = this.#newest();
      const { isSealed } = newest.readMeta();
      await this.#waitForSilence(newest);
      if (isSealed) {
        await this.#guard(() => syncPath(newest.path)); // the process that sealed it may have been killed before this
        await this.#openFile(newest.number + 1);
      } else if (await this.#takeFile(newest)) break;
    }
    await this.#guard(() => syncPath(this.#dir));
    if (!(await this.isOwner())) throw notOwner();
    this.#reach(this.#newest(), this.#numCommits);
    this.#beat();
  }

  /** Waits until an owner in another container gives a sign of life or has been silent for long enough. */
  async #waitForSilence(file: LmdbFile): Promise<void> {
    const first = file.readMeta().owner;
    if (this.#options.takeOver === true || first === undefined) return;
    for (let owner: Owner | undefined = first; owner?.heartbeat === first.heartbeat; owner = file.readMeta().owner) {
      if (!isSilent(first)) return;
      await sleep(250);
    }
  }

  async secure(): Promise<void> {
    // If the newest files are empty, the file before them may have unsynced entries: the process that sealed it may
    // have been killed before it copied them.
    const first = this.#files.findLastIndex((file) => !file.isEmpty);
    const entries = this.#files.slice(Math.max(first, 0)).flatMap((file) => {
      const { numSynced } = file.readMeta();
      return (['finished', 'carried', 'events'] as const).flatMap((lane) => file.readAfter(lane, numSynced));
    });
    if (entries.length === 0) return;
    await this.#begin(entries);
    await this.sync();
  }

  files(): readonly StoreFile[] {
    return this.#files.map((file) => ({
      number: file.number,
      bytes: file.bytes,
      get isSealed() {
        return file.isSealed;
      },
    }));
  }

  read(number: number, lane: Lane, after?: number): Iterable<StoreEntry> {
    return this.#files.find((file) => file.number === number)?.read(lane, after) ?? [];
  }

  find(sequence: number, lane: Exclude<Lane, 'carried'> = 'events'): StoreEntry | undefined {
    for (let at = this.#files.length - 1; at >= 0; at--) {
      const entry = this.#files[at]?.find(sequence, lane);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  async commit(entries: readonly StoreEntry[]): Promise<void> {
    await this.#guard(async () => {
      const newest = this.#newest();
      this.#numCommits = await this.#write(newest, { numSynced: this.#numSynced }, entries);
      this.#reach(newest, this.#numCommits);
    });
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
    await this.#noteRemoval(numbers);
    for (const file of this.#files.filter(({ number }) => numbers.includes(number))) {
      await file.close();
      this.#files.splice(this.#files.indexOf(file), 1);
      for (const suffix of ['', '-lock']) rmSync(file.path + suffix, { force: true });
    }
    await this.#guard(() => syncPath(this.#dir));
  }

  /** Records the removal of files before they are removed. */
  async #noteRemoval(numbers: readonly number[]): Promise<void> {
    await this.#guard(async () => {
      const newest = this.#newest();
      const removed = [...(newest.readMeta().removed ?? []), ...numbers];
      this.#numCommits = Math.max(this.#numCommits, await this.#write(newest, { removed }));
      await newest.sync();
    });
  }

  async isOwner(): Promise<boolean> {
    await this.#rolling.catch(() => {}); // the caller of `roll` gets the error
    const newest = this.#files.at(-1);
    if (newest === undefined) return false; // a closed store does not own anything
    const { owner, isSealed } = newest.readMeta();
    return owner?.id === this.#id && !isSealed;
  }

  isTaken(): boolean {
    const owner = this.#files.at(-1)?.readMeta().owner;
    return owner !== undefined && owner.id !== this.#id && !isDead(owner, this.bootId);
  }

  /** Returns whether the disk has room. It checks the disk once a second, and more often while much is written. */
  hasRoom(): boolean {
    const now = Date.now();
    const least = this.#leastFree;
    const bytes = this.#files.at(-1)?.bytes ?? 0;
    if (now - this.#room.askedMs > 1000 || Math.abs(bytes - this.#room.bytes) > least / 16)
      this.#room = { askedMs: now, bytes, hasRoom: freeBytes(this.#dir) >= least };
    return this.#room.hasRoom;
  }

  hasRoomFor(bytes: number): boolean {
    const newest = this.#files.at(-1);
    if (newest === undefined) return false;
    const wanted = 2 * bytes + reserveBytes;
    const hasRoom = this.hasRoom();
    if (hasRoom && this.#leastFree >= 2 * wanted) return true; // each end of an episode asks, so the disk is not asked again
    if (!hasRoom) newest.reserve(reserveBytes);
    return newest.room + freeBytes(this.#dir) >= wanted;
  }

  get #leastFree(): number {
    return this.#options.minFreeBytes ?? minFreeBytes;
  }

  /**
   * Copies the present content of all files to a folder. An owner may write the files in the meantime. Sealed files
   * never change, so a later backup needs only new files.
   */
  async backup(dir: string): Promise<void> {
    mkdirSync(dir, { recursive: true });
    copyFileSync(headOf(this.#dir), headOf(dir)); // copied before the files, which may grow
    for (const file of this.#files) {
      const target = path.join(dir, path.basename(file.path));
      if (file.isSealed && !existsSync(target)) copyFileSync(file.path, target);
      else if (!file.isSealed) await file.backup(target);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#head?.close();
    this.#head = undefined;
    await Promise.all(this.#files.splice(0).map((file) => file.close()));
  }

  /** Seals the newest file, then makes the next one, whose first transaction sets the owner and these entries. */
  async #begin(entries: readonly StoreEntry[] = []): Promise<void> {
    this.#rolling = this.#beginNext(entries);
    await this.#rolling;
  }

  async #beginNext(entries: readonly StoreEntry[]): Promise<void> {
    await this.#guard(async () => {
      const old = this.#newest();
      await this.#write(old, { isSealed: true, isLast: true, numSynced: this.#numSynced });
      await old.sync();
      const next = await this.#openFile(old.number + 1);
      const facts = { owner: this.#owner(), format, files: this.#numbers() };
      if (!(await next.begin(facts, entries))) throw notOwner();
      await syncPath(this.#dir);
      this.#reach(next, 1);
    });
    this.#numCommits = 1;
    this.#numSynced = 0;
  }

  /** Takes the file from its owner. Returns false if the file was sealed in the meantime. */
  async #takeFile(file: LmdbFile): Promise<boolean> {
    return this.#guard(async () =>
      file.take((meta) => {
        if (meta.isSealed) return undefined;
        if (this.#options.takeOver !== true) requireDead(meta.owner, this.bootId);
        const before = this.#files.at(-2)?.readMeta().owner?.term ?? -1;
        this.#term = Math.max(meta.owner?.term ?? -1, before) + 1;
        this.#numCommits = meta.numCommits + 1;
        this.#numSynced = meta.numSynced;
        return { owner: this.#owner(), format, ...(meta.owner === undefined && { files: this.#numbers() }) };
      }),
    );
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
    const upTo = await this.#guard(() => this.#write(file, { owner: this.#owner(), numSynced: this.#numSynced }));
    if (file === this.#files.at(-1)) this.#numCommits = Math.max(this.#numCommits, upTo);
    this.#reach(file, upTo);
    await this.#syncQuietly(file, upTo);
    await Promise.all(this.#files.map((each) => each.rest()));
  }

  /**
   * Waits for LMDB, which syncs a commit a little later, and records how many commits are synced. Does nothing while
   * another such wait is pending.
   */
  #noteFlush(): void {
    if (this.#isNoting) return;
    this.#isNoting = true;
    this.#syncQuietly(this.#newest(), this.#numCommits)
      .catch(() => {}) // the commits then count as not synced
      .finally(() => {
        this.#isNoting = false;
      });
  }

  /**
   * Syncs a file although no caller waits for it. This keeps the number of unsynced entries low, which a recovery must
   * write again.
   */
  async #syncQuietly(file: LmdbFile, upTo: number): Promise<void> {
    await file.sync();
    if (file === this.#files.at(-1)) this.#numSynced = Math.max(this.#numSynced, upTo);
  }

  #owner(): Owner {
    const { bootId } = this;
    return { id: this.#id, term: this.#term, ...describeSelf(), bootId, heartbeat: Date.now() };
  }

  #reach(file: LmdbFile, commits: number): void {
    try {
      this.#head?.reach({ file: file.number, commits });
    } catch {
      // The commit itself is on disk. A head that lags only notices fewer missing commits.
    }
  }

  #numbers(): readonly number[] {
    return this.#files.map(({ number }) => number);
  }

  async #write(file: LmdbFile, change: Change, entries: readonly StoreEntry[] = []): Promise<number> {
    const numCommits = await file.write(this.#term, change, entries);
    if (numCommits === undefined) throw notOwner();
    return numCommits;
  }

  #newest(): LmdbFile {
    const file = this.#files.at(-1);
    if (file === undefined) throw new StoreError('closed', 'The store is closed, or nobody has taken it over yet.');
    return file;
  }

  async #openFile(number: number, isReadOnly = this.#options.isReadOnly === true): Promise<LmdbFile> {
    const file = fileOf(this.#dir, number);
    if (existsSync(file) && statSync(file).size > 0) requireHead(file);
    // Turns off the batches of lmdb: every commit here is already a batch, and lmdb's own batches can reject promises
    // that nobody handles.
    const options = { path: file, encoding: 'binary', separateFlushed: true, eventTurnBatching: false } as const;
    const open: OpenFile = (readOnly) => this.#open<Buffer>({ ...options, readOnly, overlappingSync: false });
    const openWell: OpenFile = (readOnly) => openDatabase(open, file, readOnly);
    const opened = new LmdbFile(number, file, openWell, isReadOnly);
    this.#files.push(opened);
    opened.check();
    requireFormat(opened.format, file);
    return opened;
  }

  /** Finds files that another process has begun. */
  async #findNewFiles(): Promise<void> {
    const newest = this.#newest().number;
    for (const number of numbersIn(this.#dir)) if (number > newest) await this.#openFile(number);
  }

  async #guard<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const reason = String(error);
      const [code, repair] = isFull(reason, this.#dir) ? ['full', ` ${freeSpace}`] : ['failed', ''];
      throw new StoreError(code, `The store at ${this.#dir} failed: ${reason}.${repair}`, { cause: error });
    }
  }
}

type OpenDatabase = typeof open;

const minFreeBytes = 256 * 2 ** 20;
/** Room that is reserved for the server's own decisions on a full disk. */
const reserveBytes = 4 * 2 ** 20;
const heartbeatMs = 5000;

const fileOf = (dir: string, number: number): string => path.join(dir, `${String(number).padStart(6, '0')}.mdb`);

function numbersIn(dir: string): readonly number[] {
  const found = readdirSync(dir).flatMap((name) => /^(\d{6})\.mdb$/.exec(name)?.[1] ?? []);
  return found.map(Number).sort((a, b) => a - b);
}
