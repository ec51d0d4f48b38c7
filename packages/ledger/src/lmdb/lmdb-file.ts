import { statSync } from 'node:fs';
import type { Key, RootDatabase } from 'lmdb';
import { decodeRecord, encodeRecord, type Entry } from '../store/entry.js';
import { Scratch } from '../store/scratch.js';
import { StoreError } from '../store/store-error.js';
import { laneOf, type Lane } from '../store/store.js';

/**
 * One numbered file of a store: an LMDB environment. Its keys are `[lane, sequence]` for entries and `['meta', name]` for
 * what the file says of itself. A value is the number of its commit (4 bytes), a checksum (4 bytes), JSON and bytes.
 */
export class LmdbFile {
  readonly number: number;
  readonly path: string;
  readonly #database: RootDatabase<Buffer, Key>;
  /** Of the commit that is being written; a second one that is would have its own. */
  #scratch: Scratch | undefined = new Scratch();
  #bytes: number;

  constructor(number: number, path: string, database: RootDatabase<Buffer, Key>) {
    this.number = number;
    this.path = path;
    this.#database = database;
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Roughly its size: what it had when it was opened, and what this process has added. */
  get bytes(): number {
    return this.#bytes;
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

  /** Runs the change in one transaction that sees the newest metadata. Throwing in `check` leaves the file unchanged. */
  async transact(check: (meta: FileMeta) => Partial<FileMeta>, entries: readonly Entry[] = []): Promise<void> {
    if (entries.length === 0) return this.#write(check, []);
    const scratch = this.#scratch ?? new Scratch();
    this.#scratch = undefined;
    try {
      await this.#write(
        check,
        entries.map((entry) => ({ key: keyOf(entry), bytes: encodeRecord(entry.record, commitBytes, scratch) })),
      );
    } finally {
      scratch.clear();
      this.#scratch = scratch;
    }
  }

  async #write(check: (meta: FileMeta) => Partial<FileMeta>, values: readonly Value[]): Promise<void> {
    const thrown = await this.#database.transaction((): unknown => {
      try {
        const meta = this.readMeta();
        const change = check(meta);
        const numCommits = meta.numCommits + 1;
        this.#putMeta({ ...change, numCommits });
        for (const { key, bytes } of values) {
          bytes.writeUInt32LE(numCommits, 0);
          void this.#database.put(key, bytes);
        }
        return undefined;
      } catch (error) {
        return error; // an error thrown in a transaction of lmdb does not undo its writes, so none came before it
      }
    });
    if (thrown !== undefined) throw thrown;
    for (const { bytes } of values) this.#bytes += bytes.length + 40;
  }

  /** Writes what is committed now to another file, while others may write this one. */
  async backup(target: string): Promise<void> {
    await this.#database.backup(target, false);
  }

  /** Waits until everything committed is on the disk. The next commit notes how far that was. */
  async sync(): Promise<void> {
    await this.#database.flushed;
  }

  /** Calls, memos and ends without their content. */
  *read(lane: Lane): Generator<Entry> {
    for (const { key, value } of this.#database.getRange({ start: [lane], end: [lane, Infinity] }))
      yield this.#toEntry(lane, key, value, { isWhole: false });
  }

  /** Whole entries of the commits after this one. */
  readAfter(lane: Lane, numCommits: number): readonly Entry[] {
    const found: Entry[] = [];
    for (const { key, value } of this.#database.getRange({ start: [lane, Infinity], end: [lane], reverse: true })) {
      const isAfter = value.length < commitBytes || value.readUInt32LE(0) > numCommits;
      if (isAfter) found.push(this.#toEntry(lane, key, value, { isWhole: true }));
      else if (lane === 'events') break; // events are committed in the order of their numbers
    }
    return found.reverse();
  }

  #toEntry(lane: Lane, key: Key, value: Buffer, { isWhole }: { readonly isWhole: boolean }): Entry {
    const sequence = Number(Array.isArray(key) ? key[1] : Number.NaN);
    if (value.length < commitBytes) throw new StoreError('damaged', `Entry ${sequence} of ${this.path} is cut short.`);
    const record = decodeRecord(value.subarray(commitBytes), `Entry ${sequence} of ${this.path}`, { isWhole });
    return lane === 'carried' ? { sequence, record, isCarried: true } : { sequence, record };
  }

  find(sequence: number): Entry | undefined {
    const value = this.#database.get(['events', sequence]);
    if (value === undefined) return undefined;
    return { sequence, record: decodeRecord(value.subarray(commitBytes), `Entry ${sequence} of ${this.path}`) };
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #getMeta(name: string): unknown {
    const value = this.#database.get(['meta', name]);
    return value === undefined ? undefined : (JSON.parse(value.toString()) as unknown);
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

const keyOf = (entry: Entry): Key => [laneOf(entry), entry.sequence];

type Value = { readonly key: Key; readonly bytes: Buffer };

/** Of the number of a commit, before each record. */
const commitBytes = 4;
