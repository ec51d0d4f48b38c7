import type { LedgerRecord } from '../records.js';
import type { StoreEntry } from './store-entry.js';
import { StoreError } from './store-error.js';
import type { Store } from './store.js';

/**
 * Writes records in the background, many in one transaction, in the order in which they were appended. A route waits
 * for `committed` or `synced` before it answers a request. A failure is final: every waiter gets it, and `onFailure`
 * gets it once.
 */
export class StoreWriter {
  readonly #store: Store;
  readonly #options: StoreWriterOptions;
  readonly #waiters = { committed: [] as Waiter[], synced: [] as Waiter[] };
  #pending: StoreEntry[] = [];
  #nextSequence: number;
  #appended = 0;
  #committed = 0;
  #synced = 0;
  #writtenSinceRoll = 0;
  #isBusy = false;
  #isHurried = false;
  #stopGathering: () => void = () => undefined;
  #failure: StoreError | undefined;

  constructor(store: Store, options: StoreWriterOptions) {
    this.#store = store;
    this.#options = options;
    this.#nextSequence = options.nextSequence;
  }

  append(records: readonly LedgerRecord[]): void {
    this.carry(records.map((record) => ({ sequence: this.#nextSequence++, record })));
  }

  /** Writes entries that already have sequence numbers. */
  carry(entries: readonly StoreEntry[]): void {
    this.#pending.push(...entries);
    this.#appended += entries.length;
    this.#wake();
  }

  /** Resolves when everything appended so far survives the end of this process. */
  committed(): Promise<void> {
    return this.#reached('committed', this.#committed);
  }

  /** Resolves when everything appended so far survives a power cut. */
  synced(): Promise<void> {
    return this.#reached('synced', this.#synced);
  }

  /** Lets the next commit gather no longer. Call it for records that no other request is likely to follow. */
  hurry(): void {
    this.#isHurried = this.#pending.length > 0;
    this.#stopGathering();
  }

  /** Stops writing. Waiters get the error; `onFailure` is not called. */
  close(error: StoreError): void {
    if (this.#failure === undefined) this.#refuseAll(error);
  }

  #reached(level: 'committed' | 'synced', upTo: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (upTo >= this.#appended) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters[level].push({ upTo: this.#appended, resolve, reject });
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#isBusy || this.#failure !== undefined) return;
    this.#isBusy = true;
    this.#work().catch((error: unknown) => this.#fail(error));
  }

  async #work(): Promise<void> {
    await Promise.resolve(); // so that all appends of one turn of the event loop go into one transaction
    while (this.#failure === undefined && (this.#pending.length > 0 || this.#waiters.synced.length > 0)) {
      if (this.#pending.length > 0) {
        await this.#gather();
        if (this.#failure !== undefined) break;
        await this.#commit();
      }
      const isAwaited = this.#waiters.synced.some(({ upTo }) => upTo <= this.#committed);
      if (isAwaited) await this.#sync(); // a busy server must not delay those who wait for the disk
    }
    this.#isBusy = false;
  }

  async #gather(): Promise<void> {
    const { gather } = this.#options;
    if (gather === undefined || this.#isHurried) return;
    const stopped = new Promise<void>((resolve) => (this.#stopGathering = resolve));
    await Promise.race([gather(), stopped]);
  }

  async #commit(): Promise<void> {
    this.#isHurried = false;
    const batch = this.#pending;
    this.#pending = [];
    await this.#store.commit(batch);
    this.#committed += batch.length;
    this.#writtenSinceRoll += batch.length;
    this.#release('committed', this.#committed);
    this.#options.onCommit?.(batch);
    const newest = this.#store.files().at(-1);
    const isFull = newest !== undefined && newest.bytes >= this.#options.maxFileBytes;
    if (!isFull && this.#writtenSinceRoll < this.#options.maxFileEntries) return;
    if (!this.#store.hasRoomFor(newFileBytes)) return; // only the present file has room on a full disk
    await this.#store.roll();
    this.#writtenSinceRoll = 0;
  }

  async #sync(): Promise<void> {
    const upTo = this.#committed;
    await this.#store.sync();
    this.#synced = upTo;
    this.#release('synced', upTo);
  }

  #release(level: 'committed' | 'synced', upTo: number): void {
    const ready = this.#waiters[level].filter((waiter) => waiter.upTo <= upTo);
    this.#waiters[level] = this.#waiters[level].filter((waiter) => waiter.upTo > upTo);
    for (const { resolve } of ready) resolve();
  }

  #fail(error: unknown): void {
    const failure =
      error instanceof StoreError
        ? error
        : new StoreError('failed', `The store failed: ${String(error)}`, { cause: error });
    if (this.#failure !== undefined) return; // it was closed or has failed already
    this.#refuseAll(failure);
    this.#options.onFailure(failure);
  }

  #refuseAll(failure: StoreError): void {
    this.#failure = failure;
    for (const { reject } of [...this.#waiters.committed, ...this.#waiters.synced]) reject(failure);
  }
}

export type StoreWriterOptions = {
  /** The result of `foldStore`. */
  readonly nextSequence: number;
  /** A file is sealed after this number of bytes or entries. */
  readonly maxFileBytes: number;
  readonly maxFileEntries: number;
  /** Awaited before each transaction so that more records go into it: a commit costs as much as several records. */
  readonly gather?: (() => Promise<void>) | undefined;
  readonly onFailure: (error: StoreError) => void;
  readonly onCommit?: (entries: readonly StoreEntry[]) => void;
};

/** A new file is begun only if the disk has room for this many bytes. */
const newFileBytes = 2 ** 20;

type Waiter = {
  readonly upTo: number;
  readonly resolve: () => void;
  readonly reject: (error: StoreError) => void;
};
