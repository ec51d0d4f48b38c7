import type { StoreEntry } from '../store/store-entry.js';
import { StoreError } from '../store/store-error.js';
import { laneOf, type Lane, type Store, type StoreFile } from '../store/store.js';

/**
 * A disk that several stores share, as several servers share a folder. It keeps committed transactions until `cutPower`
 * removes those that were not synced.
 */
export class MemoryDisk {
  /** If true, only necessary records still fit. */
  isFull = false;
  files: MemoryFile[] = [{ number: 0, term: 0, isSealed: false, transactions: [] }];
  #unlinked: MemoryFile[] = [];
  #bootNumber = 1;
  #numTransactions = 0;
  #synced = 0;
  #numFailures = 0;

  get bootId(): string {
    return `boot-${this.#bootNumber}`;
  }

  get newest(): MemoryFile {
    return this.files.at(-1) as MemoryFile;
  }

  write(file: MemoryFile, entries: readonly StoreEntry[]): void {
    file.transactions.push({ number: ++this.#numTransactions, entries, isPoisoned: false });
  }

  /**
   * Behaves like fsync on Linux: data of a failed sync is readable but never durable, and every process receives the
   * error once. `heard` is the newest failure that this process knows; the result is the newest one that exists.
   */
  async sync(faults: DiskFaults, heard: number): Promise<number> {
    const upTo = this.#numTransactions;
    await faults.wait('sync');
    if (faults.fails('sync')) {
      for (const transaction of this.#unsynced()) transaction.isPoisoned = true;
      this.#numFailures++;
    }
    if (this.#numFailures === heard) this.#synced = Math.max(this.#synced, upTo);
    return this.#numFailures;
  }

  get numFailures(): number {
    return this.#numFailures;
  }

  unsyncedEntries(): readonly StoreEntry[] {
    return this.#unsynced().flatMap(({ entries }) => entries);
  }

  remove(file: MemoryFile): void {
    this.files = this.files.filter((each) => each !== file);
    this.#unlinked.push(file);
  }

  /** Cuts the power: unsynced transactions are lost from some point on, and a removed file may come back. */
  cutPower(random: () => number = () => 0): void {
    const keep = this.#synced + Math.floor(random() * (this.#numTransactions - this.#synced + 1));
    const back = random() < 0.5 ? this.#unlinked.pop() : undefined;
    this.files = [...this.files, ...(back === undefined ? [] : [back])].sort((a, b) => a.number - b.number);
    for (const file of this.files) {
      file.transactions = file.transactions.filter(({ number, isPoisoned }) => number <= keep && !isPoisoned);
    }
    this.#numTransactions = Math.max(keep, this.#synced);
    this.#synced = this.#numTransactions;
    this.#bootNumber++;
  }

  #unsynced(): MemoryTransaction[] {
    return this.files.flatMap(({ transactions }) => transactions).filter(({ number }) => number > this.#synced);
  }
}

export type DiskFaults = {
  readonly wait: (operation: DiskOperation) => Promise<void>;
  readonly fails: (operation: DiskOperation) => boolean;
  readonly random: () => number;
};

export type DiskOperation = 'open' | 'commit' | 'sync' | 'roll' | 'remove';

type MemoryTransaction = { readonly number: number; readonly entries: readonly StoreEntry[]; isPoisoned: boolean };

type MemoryFile = {
  readonly number: number;
  term: number;
  isSealed: boolean;
  transactions: MemoryTransaction[];
};

export type MemoryStoreOptions = {
  /** Delays and failures of the disk for this process. */
  readonly faults?: Partial<DiskFaults>;
  readonly bytesPerEntry?: number;
};

/** The store of one process on a MemoryDisk. */
export class MemoryStore implements Store {
  readonly #disk: MemoryDisk;
  readonly #bytesPerEntry: number;
  readonly #faults: DiskFaults;
  #file: MemoryFile;
  #term = -1;
  #failuresHeard: number;

  constructor(disk: MemoryDisk, { faults = {}, bytesPerEntry = 100 }: MemoryStoreOptions = {}) {
    this.#disk = disk;
    this.#faults = { wait: async () => {}, fails: () => false, random: () => 0, ...faults };
    this.#bytesPerEntry = bytesPerEntry;
    this.#file = disk.newest;
    this.#failuresHeard = disk.numFailures;
  }

  get bootId(): string {
    return this.#disk.bootId;
  }

  async takeOver(): Promise<void> {
    await this.#faults.wait('open');
    this.#file = this.#disk.newest;
    this.#term = this.#file.term + 1;
    this.#file.term = this.#term;
  }

  async secure(): Promise<void> {
    const entries = this.#disk.unsyncedEntries();
    if (entries.length === 0) return;
    await this.#faults.wait('commit');
    this.#begin();
    this.#disk.write(this.#file, entries);
    await this.sync();
  }

  files(): readonly StoreFile[] {
    return this.#disk.files.map(({ number, isSealed, transactions }) => {
      const numEntries = transactions.reduce((sum, { entries }) => sum + entries.length, 0);
      return { number, isSealed, bytes: numEntries * this.#bytesPerEntry };
    });
  }

  *read(number: number, lane: Lane, after = -Infinity): Generator<StoreEntry> {
    const file = this.#disk.files.find((each) => each.number === number);
    const entries = (file?.transactions ?? []).flatMap((transaction) => transaction.entries);
    const wanted = entries.filter((entry) => laneOf(entry) === lane && entry.sequence > after);
    yield* wanted.sort((a, b) => a.sequence - b.sequence);
  }

  find(sequence: number, lane: Lane = 'events'): StoreEntry | undefined {
    for (const { transactions } of this.#disk.files)
      for (const { entries } of transactions)
        for (const entry of entries) if (entry.sequence === sequence && laneOf(entry) === lane) return entry;
    return undefined;
  }

  async commit(entries: readonly StoreEntry[]): Promise<void> {
    await this.#faults.wait('commit');
    this.#requireOwner();
    const hasFailed = this.#faults.fails('commit');
    if (!hasFailed || this.#faults.random() < 0.5) this.#disk.write(this.#file, entries);
    if (hasFailed) throw new StoreError('failed', 'The disk failed to commit.');
  }

  async sync(): Promise<void> {
    const numFailures = await this.#disk.sync(this.#faults, this.#failuresHeard);
    if (numFailures === this.#failuresHeard) return;
    this.#failuresHeard = numFailures;
    throw new StoreError('failed', 'The disk failed to sync.');
  }

  async roll(): Promise<void> {
    await this.sync();
    await this.#faults.wait('roll');
    this.#begin();
  }

  async remove(numbers: readonly number[]): Promise<void> {
    await this.#faults.wait('remove');
    this.#requireOwner();
    for (const file of this.#disk.files.filter(({ number }) => numbers.includes(number))) this.#disk.remove(file);
  }

  async isOwner(): Promise<boolean> {
    return this.#isOwner();
  }

  isTaken(): boolean {
    return false; // the next process that opens the store always gets it
  }

  hasRoom(): boolean {
    return !this.#disk.isFull;
  }

  hasRoomFor(): boolean {
    return true;
  }

  async close(): Promise<void> {}

  #isOwner(): boolean {
    return this.#file.term === this.#term && !this.#file.isSealed;
  }

  #requireOwner(): void {
    if (!this.#isOwner()) throw new StoreError('not_owner', 'Another server owns the store.');
  }

  #begin(): void {
    this.#requireOwner();
    this.#file.isSealed = true;
    const next = { number: this.#file.number + 1, term: this.#term, isSealed: false, transactions: [] };
    this.#disk.files.push(next);
    this.#file = next;
  }
}
