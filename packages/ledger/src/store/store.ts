import type { StoreEntry } from './entry.js';

/**
 * Where a ledger is kept: a series of files, of which the newest is written and the others are sealed. A committed entry
 * survives the end of the process; a synced one survives the end of the machine. One owner writes at a time, and every
 * transaction checks that it still is the owner.
 *
 * All methods that write reject with StoreError: `not_owner` once another owner has taken over, `failed` or `full` if
 * the disk did not do it. After `failed` it is not known whether the entries are there; recover.
 */
export interface Store {
  /** Differs after every start of the machine. */
  readonly bootId: string;
  /** Becomes the owner, before anything is read. The term grows each time. */
  takeOver(): Promise<void>;
  /** Writes what is not known to be synced again, into a new file, and syncs it. Part of every recovery. */
  secure(): Promise<void>;
  /** Oldest first. */
  files(): readonly StoreFile[];
  /**
   * Entries of a file in ascending order of their numbers. `carried` and `finished` are kept apart, to be read first. Calls,
   * memos and ends may come without their content, which `find` reads.
   */
  read(file: number, lane: Lane): Iterable<StoreEntry>;
  /** The entry with this number, if a file still holds it in that lane. */
  find(sequence: number, lane?: Exclude<Lane, 'carried'>): StoreEntry | undefined;
  /** All of them, in one transaction, or none. */
  commit(entries: readonly StoreEntry[]): Promise<void>;
  /** What was committed before the call is on the disk. */
  sync(): Promise<void>;
  /** Seals the newest file, in a transaction of its owner, and begins another. */
  roll(): Promise<void>;
  /** Removes sealed files for good. */
  remove(files: readonly number[]): Promise<void>;
  /** Whether this store is still the owner: asked before a refusal, which rests on the absence of records. */
  isOwner(): Promise<boolean>;
  /** Whether there is room for more than what has to be written: ends and decisions must fit even on a full disk. */
  hasRoom(): boolean;
  close(): Promise<void>;
}

export type StoreFile = { readonly number: number; readonly isSealed: boolean; readonly bytes: number };

/** `events`: what happened. `finished`: one entry per group that is over for good. `carried`: copies from removed files. */
export type Lane = 'events' | 'finished' | 'carried';

export function laneOf(entry: StoreEntry): Lane {
  if (entry.record.kind === 'finished') return 'finished';
  return entry.isCarried === true ? 'carried' : 'events';
}
