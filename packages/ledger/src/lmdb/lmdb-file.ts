import { statSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Key, RootDatabase } from 'lmdb';
import { decodeRecord, encodeRecord } from '../store/entry.js';
import type { StoreEntry } from '../store/store-entry.js';
import { Scratch } from '../store/scratch.js';
import { StoreError } from '../store/store-error.js';
import { laneOf, type Lane } from '../store/store.js';
import type { LedgerRecord } from '../records.js';
import { checkPages } from './check-pages.js';
import { fromValue, toValue } from './checked-value.js';
import { FileRoom } from './file-room.js';
import { letGoOf, reasonOfFailedWrite } from './failed-write.js';
import { restore, type OpenFile } from './open-database.js';
import type { Owner } from './owner.js';

/**
 * One numbered file of a store: an LMDB environment. Its keys are `[lane, sequence]` for entries and `['meta', name]`
 * for facts about the file. `['ended', term]` exists once the owner of that term may not write any more. The value of
 * an entry consists of the number of its commit (4 bytes), a checksum (4 bytes), JSON and bytes. All other values
 * consist of a checksum and JSON. A checksum also covers the key. The fact `format` has no checksum, so that every
 * version can read it.
 */
export class LmdbFile {
  readonly number: number;
  readonly path: string;
  readonly #open: OpenFile;
  /** The open file. A sealed file is closed while nobody reads it, so that its pages do not occupy memory. */
  #opened: OpenedFile | undefined;
  /** The room of the file. Undefined before the first write. */
  #room: FileRoom | undefined;
  /** The bytes of room that a write leaves for later writes, if the disk has them. */
  #reserve = 0;
  #isSealed = false;
  #last: number | undefined;
  #isAtRest = false;
  #isClosed = false;
  /** The memory of the commit that is being written. A commit that begins before it is written allocates new memory. */
  #scratch: Scratch | undefined = new Scratch();
  #bytes: number;
  /** The number of commits so far. It is correct only if this process is the owner. */
  #numCommits = 0;
  /** Settles when no write is under way. */
  #writing: Promise<void> = Promise.resolve();
  /** The error of the first write that failed. */
  #failure: unknown;

  constructor(number: number, path: string, open: OpenFile, isReadOnly: boolean) {
    this.number = number;
    this.path = path;
    this.#open = open;
    this.#opened = { database: open(isReadOnly), isReadOnly };
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  get #database(): RootDatabase<Buffer, Key> {
    this.#isAtRest = false;
    // A closed file is never opened again, because that would block its next owner.
    if (this.#isClosed) throw new StoreError('closed', `${this.path} is closed.`);
    this.#opened ??= { database: this.#open(true), isReadOnly: true };
    return this.#opened.database;
  }

  /** The approximate size: the size at opening plus what this process has added. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the file is sealed. Once true, this stays true. */
  get isSealed(): boolean {
    this.#isSealed ||= this.#getMeta('sealed') === true;
    return this.#isSealed;
  }

  /**
   * Call this periodically. It closes a read-only file that was not read since the last call. The next read opens the
   * file again.
   */
  async rest(): Promise<void> {
    if (this.#isAtRest && this.#opened?.isReadOnly === true) await this.#letGo();
    this.#isAtRest = true;
  }

  /** The format of the file. Undefined if the file is new. A malformed format is returned as it is stored. */
  get format(): string | undefined {
    const value = this.#database.get(['meta', 'format'])?.toString();
    return value === undefined ? undefined : (/^"(.*)"$/.exec(value)?.[1] ?? value);
  }

  /**
   * Throws StoreError `damaged` unless all pages of the file are whole and every key is of a kind that a store writes.
   * Entries are checked when they are read. Call this before any other read, because LMDB may crash on damaged pages.
   */
  check(): void {
    const transaction = this.#database.useReadTransaction(); // LMDB does not overwrite the pages of this snapshot
    try {
      checkPages(this.path, (key) => this.#requireKnown(key));
      for (const { key, value } of this.#database.getRange({ start: ['ended'], end: ['ended', Infinity] }))
        fromValue(value, String(key), this.path);
    } finally {
      transaction.done();
    }
  }

  #requireKnown(key: Buffer): void {
    const end = key.indexOf(0); // a zero separates the parts of a key
    const kind = key.toString('latin1', 0, Math.max(end, 0));
    if (
      kind === 'meta'
        ? metaNames.has(key.toString('latin1', end + 1))
        : kind === 'ended' || lanes.includes(kind as Lane)
    )
      return;
    throw new StoreError('damaged', `${this.path} is damaged: it has an entry of an unknown kind. ${restore}`);
  }

  readMeta(): FileMeta {
    return {
      owner: this.#getMeta('owner') as Owner | undefined,
      isSealed: this.#getMeta('sealed') === true,
      numCommits: Number(this.#getMeta('commits') ?? 0),
      numSynced: Number(this.#getMeta('synced') ?? 0),
      files: this.#getMeta('files') as readonly number[] | undefined,
      removed: this.#getMeta('removed') as readonly number[] | undefined,
      format: this.format,
    };
  }

  /**
   * Takes the file from its present owner, or leaves it unchanged if `check` throws or returns undefined. The
   * transaction blocks this thread until it is on disk, so use it only at a start. The previous owner cannot write from
   * then on.
   */
  take(check: (meta: FileMeta) => Partial<FileMeta> | undefined): boolean {
    this.#makeRoom(0);
    return this.#database.transactionSync(() => {
      const meta = this.readMeta();
      const change = check(meta);
      if (change === undefined) return false;
      this.#numCommits = meta.numCommits + 1;
      if (meta.owner !== undefined) this.#putEnd(meta.owner.term);
      // The previous owner may have sealed the preceding file without beginning this one.
      if (change.owner !== undefined) this.#putEnd(change.owner.term - 1);
      this.#putMeta({ ...change, numCommits: this.#numCommits });
      return true;
    });
  }

  /**
   * Gives a new file its first owner and its facts. The first commit of the file also contains the entries. Returns
   * false if the file has an owner.
   */
  async begin(facts: Change, entries: readonly StoreEntry[] = []): Promise<boolean> {
    this.#numCommits = 0;
    return (await this.#commit(['meta', 'owner'], facts, entries)) !== undefined;
  }

  /**
   * Commits on behalf of the owner of this term and returns the number of the commit. Returns undefined and writes
   * nothing if the owner has been replaced. LMDB's thread checks this within the transaction and waits for nothing that
   * this thread does, so the process may exit at any moment.
   */
  async write(term: number, change: Change, entries: readonly StoreEntry[] = []): Promise<number | undefined> {
    return this.#commit(['ended', term], change, entries, change.isLast === true ? term : undefined);
  }

  /**
   * Returns undefined and writes nothing if the file has the key `unless`. `ends`: the term that ends with this commit.
   */
  async #commit(
    unless: Key,
    change: Change,
    entries: readonly StoreEntry[],
    ends?: number,
  ): Promise<number | undefined> {
    const scratch = this.#scratch ?? new Scratch();
    this.#scratch = undefined;
    try {
      const records = entries.map((entry) => encodeRecord(entry.record, commitBytes, scratch));
      const bytes = records.reduce((sum, record) => sum + record.length, 0);
      return await this.#inTurn(bytes, async (database) => {
        const numCommits = this.#numCommits + 1;
        const isWritten = await database.ifNoExists(unless, () => {
          if (ends !== undefined) this.#putEnd(ends);
          this.#putMeta({ ...change, numCommits });
          for (const [index, entry] of entries.entries()) {
            const bytes = records[index] as Buffer;
            seal(bytes, entry, numCommits);
            void database.put(keyOf(entry), bytes);
          }
        });
        if (!isWritten) return undefined;
        this.#numCommits = numCommits;
        for (const bytes of records) this.#bytes += bytes.length + 40;
        return numCommits;
      });
    } finally {
      scratch.clear();
      this.#scratch = scratch;
    }
  }

  /**
   * Runs writes one at a time. `bytes` is the size of the write. After a failed write, every later write rejects with
   * the reason of the first failure, because LMDB may never answer it or may wrongly report it as synced.
   */
  #inTurn<T>(bytes: number, write: (database: RootDatabase<Buffer, Key>) => Promise<T>): Promise<T> {
    const turn = this.#writing.then(async () => {
      const database = this.#database;
      if (this.#failure !== undefined) throw this.#failure;
      this.#makeRoom(bytes);
      try {
        const result = await write(database);
        await database.flushed; // settles at once, because LMDB answers a commit only when it is on disk
        return result;
      } catch (error) {
        this.#failure = await reasonOfFailedWrite(error);
        throw this.#failure;
      }
    });
    this.#writing = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** Bytes that can be written to the file although the disk is full. */
  get room(): number {
    return this.#room?.bytes ?? 0;
  }

  /** Takes room from the disk now, so that this many bytes can be written later. Does nothing if the disk is full. */
  reserve(bytes: number): void {
    this.#reserve = bytes;
    try {
      this.#makeRoom(0);
    } catch {
      // If a write needs more room than the file has, the write throws this error.
    }
  }

  /** Throws the error of the disk unless LMDB can write this many bytes and the changed pages of its tree. */
  #makeRoom(bytes: number): void {
    this.#room ??= new FileRoom(this.path);
    try {
      this.#room.ensure(2 * bytes + treeBytes + this.#reserve);
    } catch (error) {
      if (this.#room.bytes < bytes + bytes / 4 + treeBytes) throw error;
    }
  }

  /** Copies the entries that are committed now to another file. Other processes may write this file in the meantime. */
  async backup(target: string): Promise<void> {
    await this.#database.backup(target, false);
  }

  /** Waits until everything committed is on disk. The next commit records the number of synced commits. */
  async sync(): Promise<void> {
    await this.#inTurn(0, async () => undefined);
  }

  /** Whether the file has no entries. */
  get isEmpty(): boolean {
    return lanes.every((lane) => {
      return [...this.#database.getKeys({ start: [lane], end: [lane, Infinity], limit: 1 })].length === 0;
    });
  }

  /** Returns the entries after a number. Calls, memos and ends come without their content. */
  *read(lane: Lane, after?: number): Generator<StoreEntry> {
    if (lane === 'events' && after !== undefined && this.isSealed && after >= this.#lastEvent()) return;
    const start = after === undefined ? [lane] : [lane, after + 1];
    for (const { key, value } of this.#database.getRange({ start, end: [lane, Infinity] }))
      yield this.#toEntry(lane, key, value, { isWhole: false });
  }

  /** The number of the last event. Call this only for a sealed file, which is then not opened again for it. */
  #lastEvent(): number {
    const keys = { start: ['events', Infinity], end: ['events'], reverse: true, limit: 1 };
    if (this.#last === undefined) {
      const [key] = this.#database.getKeys(keys);
      this.#last = Array.isArray(key) ? Number(key[1]) : -1;
    }
    return this.#last;
  }

  /** Returns whole entries of the commits after `numCommits`. */
  readAfter(lane: Lane, numCommits: number): readonly StoreEntry[] {
    const found: StoreEntry[] = [];
    for (const { key, value } of this.#database.getRange({ start: [lane, Infinity], end: [lane], reverse: true })) {
      const isAfter = value.length < commitBytes || value.readUInt32LE(0) > numCommits;
      if (isAfter) found.push(this.#toEntry(lane, key, value, { isWhole: true }));
      else if (lane === 'events') break; // events are committed in the order of their numbers
    }
    return found.reverse();
  }

  #toEntry(lane: Lane, key: Key, value: Buffer, { isWhole }: { readonly isWhole: boolean }): StoreEntry {
    const sequence = Number(Array.isArray(key) ? key[1] : Number.NaN);
    const record = this.#decode(lane, sequence, value, { isWhole });
    return lane === 'carried' ? { sequence, record, isCarried: true } : { sequence, record };
  }

  find(sequence: number, lane: Exclude<Lane, 'carried'>): StoreEntry | undefined {
    const value = this.#database.get([lane, sequence]);
    if (value === undefined) return undefined;
    return { sequence, record: this.#decode(lane, sequence, value, { isWhole: true }) };
  }

  #decode(lane: Lane, sequence: number, value: Buffer, { isWhole }: { readonly isWhole: boolean }): LedgerRecord {
    const label = `Entry ${sequence} of ${this.path}`;
    if (value.length < commitBytes + 4) throw new StoreError('damaged', `${label} is cut short. ${restore}`);
    const covered = sumOf(lane, sequence, value.readUInt32LE(0));
    return decodeRecord(value.subarray(commitBytes), label, { isWhole, covered });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    const { database } = this.#opened ?? {};
    this.#opened = undefined;
    this.#room?.close();
    this.#room = undefined;
    if (database === undefined) return;
    if (this.#failure === undefined) await database.close();
    else letGoOf(database);
  }

  #getMeta(name: string): unknown {
    const value = this.#database.get(['meta', name]);
    return value === undefined ? undefined : fromValue(value, name, this.path);
  }

  /** Records that the owner of this term may not write any more. */
  #putEnd(term: number): void {
    void this.#database.put(['ended', term], toValue(true, `ended,${term}`));
  }

  #putMeta({ owner, isSealed, numCommits, numSynced, files, removed, format }: Partial<FileMeta>): void {
    const values = { owner, sealed: isSealed, commits: numCommits, synced: numSynced, files, removed };
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined) void this.#database.put(['meta', name], toValue(value, name));
    }
    if (format !== undefined) void this.#database.put(['meta', 'format'], Buffer.from(JSON.stringify(format)));
  }
}

export type FileMeta = {
  readonly owner: Owner | undefined;
  readonly isSealed: boolean;
  readonly numCommits: number;
  /** Commits up to this number are known to be synced. */
  readonly numSynced: number;
  /** The files that the store had when this file was begun. `removed` lists those that were removed since. */
  readonly files: readonly number[] | undefined;
  readonly removed: readonly number[] | undefined;
  readonly format: string | undefined;
};

/** `isLast`: the owner writes nothing to this file after this change. */
export type Change = Partial<FileMeta> & { readonly isLast?: boolean };

type OpenedFile = { readonly database: RootDatabase<Buffer, Key>; readonly isReadOnly: boolean };

const keyOf = (entry: StoreEntry): Key => [laneOf(entry), entry.sequence];

/** The bytes that a commit needs in addition to its records: copies of tree pages, and the list of free pages. */
const treeBytes = 2 ** 18;
/** Bytes of the commit number before each record. */
const commitBytes = 4;

const lanes: readonly Lane[] = ['events', 'carried', 'finished'];
const metaNames: ReadonlySet<string> = new Set(['owner', 'sealed', 'commits', 'synced', 'files', 'removed', 'format']);

/** Writes the number of the commit into an entry. Extends the checksum of the record to this number and the key. */
function seal(bytes: Buffer, entry: StoreEntry, numCommits: number): void {
  bytes.writeUInt32LE(numCommits, 0);
  const sum = bytes.readUInt32LE(commitBytes) ^ sumOf(laneOf(entry), entry.sequence, numCommits);
  bytes.writeUInt32LE(sum >>> 0, commitBytes);
}

const covered = Buffer.alloc(13);

/** Returns the checksum of the key and the commit number of an entry. */
function sumOf(lane: Lane, sequence: number, numCommits: number): number {
  covered.writeUInt8(lanes.indexOf(lane), 0);
  covered.writeDoubleLE(sequence, 1);
  covered.writeUInt32LE(numCommits, 9);
  return crc32(covered);
}
