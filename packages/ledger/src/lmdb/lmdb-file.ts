import { statSync } from 'node:fs';
import type { Key, RootDatabase } from 'lmdb';
import { decodeRecord, encodeRecord, type StoreEntry } from '../store/entry.js';
import { Scratch } from '../store/scratch.js';
import { StoreError } from '../store/store-error.js';
import { laneOf, type Lane } from '../store/store.js';
import { letGoOf, reasonOfFailedWrite } from './failed-write.js';
import type { OpenFile } from './open-database.js';

/**
 * One numbered file of a store: an LMDB environment. Its keys are `[lane, sequence]` for entries and `['meta', name]` for
 * what the file says of itself; `['ended', term]` is there once the owner of that term may write no more. A value is the number of its commit (4 bytes), a checksum (4 bytes), JSON and bytes.
 */
export class LmdbFile {
  readonly number: number;
  readonly path: string;
  readonly #open: OpenFile;
  /** A sealed file may be closed while nobody reads it, so that its pages are not in memory. */
  #opened: OpenedFile | undefined;
  #isSealed = false;
  #isAtRest = false;
  #isClosed = false;
  /** Of the commit that is being written; a second one that is would have its own. */
  #scratch: Scratch | undefined = new Scratch();
  #bytes: number;
  /** Of the owner, if that is this process. */
  #numCommits = 0;
  /** Settles when no write is under way. */
  #writing: Promise<void> = Promise.resolve();
  /** Of the first write that failed. */
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
    if (this.#isClosed) throw new StoreError('closed', `${this.path} is closed.`); // opened again, it would be in the way of its next owner
    this.#opened ??= { database: this.#open(true), isReadOnly: true };
    return this.#opened.database;
  }

  /** Roughly its size: what it had when it was opened, and what this process has added. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A file that is sealed once is so for ever. */
  get isSealed(): boolean {
    this.#isSealed ||= this.#getMeta('sealed') === true;
    return this.#isSealed;
  }

  /** Called now and then: a file that is only read, and was not since the last time, is closed until it is read again. */
  async rest(): Promise<void> {
    if (this.#isAtRest && this.#opened?.isReadOnly === true) await this.#letGo();
    this.#isAtRest = true;
  }

  readMeta(): FileMeta {
    return {
      owner: this.#getMeta('owner') as Owner | undefined,
      isSealed: this.#getMeta('sealed') === true,
      numCommits: Number(this.#getMeta('commits') ?? 0),
      numSynced: Number(this.#getMeta('synced') ?? 0),
      format: this.#getMeta('format') as string | undefined,
    };
  }

  /**
   * Takes the file from its present owner, or leaves it as it is if `check` throws or returns undefined. The transaction blocks this thread
   * until it is on the disk, which is for a start alone. The owner before cannot write from then on.
   */
  take(check: (meta: FileMeta) => Partial<FileMeta> | undefined): boolean {
    return this.#database.transactionSync(() => {
      const meta = this.readMeta();
      const change = check(meta);
      if (change === undefined) return false;
      this.#numCommits = meta.numCommits + 1;
      if (meta.owner !== undefined) this.#putEnd(meta.owner.term);
      if (change.owner !== undefined) this.#putEnd(change.owner.term - 1); // it may have sealed the file before, and not begun this one
      this.#putMeta({ ...change, numCommits: this.#numCommits });
      return true;
    });
  }

  /** Makes `owner` the first owner of a new file, which holds these entries from its first commit on. False if it has one. */
  async begin(owner: Owner, format: string, entries: readonly StoreEntry[] = []): Promise<boolean> {
    this.#numCommits = 0;
    return (await this.#commit(['meta', 'owner'], { owner, format }, entries)) !== undefined;
  }

  /**
   * Commits on behalf of the owner of this term and gives the number of the commit; undefined, with nothing written, if the owner's time
   * is over. LMDB's thread asks that itself, within the transaction: it waits for nothing that this thread does, so the process may exit
   * at any moment.
   */
  async write(term: number, change: Change, entries: readonly StoreEntry[] = []): Promise<number | undefined> {
    return this.#commit(['ended', term], change, entries, change.isLast === true ? term : undefined);
  }

  /** Writes nothing and gives undefined if the file has the key. `ends`: the term that ends with it. */
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
      return await this.#inTurn(async (database) => {
        const numCommits = this.#numCommits + 1;
        const isWritten = await database.ifNoExists(unless, () => {
          if (ends !== undefined) this.#putEnd(ends);
          this.#putMeta({ ...change, numCommits });
          for (const [index, entry] of entries.entries()) {
            const bytes = records[index] as Buffer;
            bytes.writeUInt32LE(numCommits, 0);
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
   * One write after the other, and none after one that failed: LMDB may answer that one never, nor does it say that it was brought to
   * the disk. Rejects with the reason of the first failure.
   */
  #inTurn<T>(write: (database: RootDatabase<Buffer, Key>) => Promise<T>): Promise<T> {
    const turn = this.#writing.then(async () => {
      const database = this.#database;
      if (this.#failure !== undefined) throw this.#failure;
      try {
        const result = await write(database);
        await database.flushed; // at once: LMDB answers a commit when it is on the disk
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

  /** Writes what is committed now to another file, while others may write this one. */
  async backup(target: string): Promise<void> {
    await this.#database.backup(target, false);
  }

  /** Waits until everything committed is on the disk. The next commit notes how far that was. */
  async sync(): Promise<void> {
    await this.#inTurn(async () => undefined);
  }

  /** Whether it holds no entry. */
  get isEmpty(): boolean {
    const lanes: readonly Lane[] = ['events', 'carried', 'finished'];
    return lanes.every((lane) => {
      return [...this.#database.getKeys({ start: [lane], end: [lane, Infinity], limit: 1 })].length === 0;
    });
  }

  /** Calls, memos and ends without their content. */
  *read(lane: Lane): Generator<StoreEntry> {
    for (const { key, value } of this.#database.getRange({ start: [lane], end: [lane, Infinity] }))
      yield this.#toEntry(lane, key, value, { isWhole: false });
  }

  /** Whole entries of the commits after this one. */
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
    if (value.length < commitBytes) throw new StoreError('damaged', `Entry ${sequence} of ${this.path} is cut short.`);
    const record = decodeRecord(value.subarray(commitBytes), `Entry ${sequence} of ${this.path}`, { isWhole });
    return lane === 'carried' ? { sequence, record, isCarried: true } : { sequence, record };
  }

  find(sequence: number, lane: Exclude<Lane, 'carried'>): StoreEntry | undefined {
    const value = this.#database.get([lane, sequence]);
    if (value === undefined) return undefined;
    return { sequence, record: decodeRecord(value.subarray(commitBytes), `Entry ${sequence} of ${this.path}`) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    await this.#letGo();
  }

  async #letGo(): Promise<void> {
    const { database } = this.#opened ?? {};
    this.#opened = undefined;
    if (database === undefined) return;
    if (this.#failure === undefined) await database.close();
    else letGoOf(database);
  }

  #getMeta(name: string): unknown {
    const value = this.#database.get(['meta', name]);
    return value === undefined ? undefined : (JSON.parse(value.toString()) as unknown);
  }

  /** The owner of this term writes no more. */
  #putEnd(term: number): void {
    void this.#database.put(['ended', term], Buffer.from('true'));
  }

  #putMeta({ owner, isSealed, numCommits, numSynced, format }: Partial<FileMeta>): void {
    const values = { owner, sealed: isSealed, commits: numCommits, synced: numSynced, format };
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined) void this.#database.put(['meta', name], Buffer.from(JSON.stringify(value)));
    }
  }
}

/** Who writes. `heartbeat` is milliseconds since 1970: two processes on one machine compare it. */
export type Owner = {
  readonly id: string;
  readonly term: number;
  readonly host: string;
  readonly pid: number;
  readonly bootId: string;
  readonly heartbeat: number;
};

export type FileMeta = {
  readonly owner: Owner | undefined;
  readonly isSealed: boolean;
  readonly numCommits: number;
  /** Commits up to this one are known to be synced. */
  readonly numSynced: number;
  readonly format: string | undefined;
};

/** `isLast`: the owner writes nothing to this file after it. */
export type Change = Partial<FileMeta> & { readonly isLast?: boolean };

type OpenedFile = { readonly database: RootDatabase<Buffer, Key>; readonly isReadOnly: boolean };

const keyOf = (entry: StoreEntry): Key => [laneOf(entry), entry.sequence];

/** Of the number of a commit, before each record. */
const commitBytes = 4;
