import type { StoreEntry } from './store-entry.js';

/**
 * Keeps a ledger in a series of files. The newest file is written, and the others are sealed. A committed entry
 * survives the end of the process; a synced one survives a power cut. One owner writes at a time, and every transaction
 * checks that it is still the owner.
 *
 * All methods that write reject with StoreError: `not_owner` once another owner has taken over, `failed` or `full` if
 * the disk refused. After `failed` it is unknown whether the entries exist; call `recover`.
 */
export interface Store {
  /** Differs after every boot of the machine. */
  readonly bootId: string;
  /** Becomes the owner. Call this before you read anything. The term grows each time. */
  takeOver(): Promise<void>;
  /**
   * Copies all entries that are not known to be synced into a new file, and syncs that file. Every recovery does this.
   */
  secure(): Promise<void>;
  /** Returns the files, oldest first. */
  files(): readonly StoreFile[];
  /**
   * Returns entries of a file in ascending order of their numbers. `carried` and `finished` are separate lanes that are
   * read first. Calls, memos and ends may come without their content, which `find` reads. `after` leaves out the
   * entries up to this number.
   */
  read(file: number, lane: Lane, after?: number): Iterable<StoreEntry>;
  /** Returns the entry with this number, if a file still contains it in that lane. */
  find(sequence: number, lane?: Exclude<Lane, 'carried'>): StoreEntry | undefined;
  /** Commits all entries in one transaction, or none. */
  commit(entries: readonly StoreEntry[]): Promise<void>;
  /** Resolves when everything committed before the call is on disk. */
  sync(): Promise<void>;
  /** Seals the newest file, in a transaction of its owner, and begins another. */
  roll(): Promise<void>;
  /** Removes sealed files permanently. */
  remove(files: readonly number[]): Promise<void>;
  /**
   * Returns whether this store is still the owner. Call this before a request is refused because records are missing.
   */
  isOwner(): Promise<boolean>;
  /** Returns whether another owner has the store and is alive. Call this before you open a store again. */
  isTaken(): boolean;
  /**
   * Returns whether there is room for records that are not necessary. The store keeps some space free, so that ends and
   * decisions fit even on a full disk.
   */
  hasRoom(): boolean;
  /** Returns whether the disk has room for a necessary record of this size and for the server's later decisions. */
  hasRoomFor(bytes: number): boolean;
  close(): Promise<void>;
}

export type StoreFile = { readonly number: number; readonly isSealed: boolean; readonly bytes: number };

/**
 * `events`: what happened. `finished`: one entry per group that is over for good. `carried`: copies from removed files.
 */
export type Lane = 'events' | 'finished' | 'carried';

export function laneOf(entry: StoreEntry): Lane {
  if (entry.record.kind === 'finished') return 'finished';
  return entry.isCarried === true ? 'carried' : 'events';
}
