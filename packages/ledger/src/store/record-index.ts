import type { CallRecord, EndRecord, MemoRecord } from '../records.js';
import type { StoreEntry } from './store-entry.js';
import type { Store } from './store.js';

/**
 * Locates the large records of each episode: its calls, its memos and its end. The state does not keep them, so they
 * are read from the store by their numbers.
 */
export class RecordIndex {
  readonly #store: Pick<Store, 'find'>;
  readonly #calls = new Map<string, number[]>();
  readonly #memos = new Map<string, number[]>();
  readonly #ends = new Map<string, number>();

  constructor(store: Pick<Store, 'find'>) {
    this.#store = store;
  }

  note = ({ sequence, record }: StoreEntry): void => {
    if (record.kind === 'end') this.#ends.set(record.episodeId, sequence);
    if (record.kind === 'call') add(this.#calls, record.episodeId, sequence);
    if (record.kind === 'memo') add(this.#memos, record.episodeId, sequence);
    if (record.kind === 'finished') for (const { episodeId } of record.episodes) this.#forget(episodeId);
  };

  /** Returns the committed calls of an episode, in the order in which they were recorded. */
  calls(episodeId: string): readonly CallRecord[] {
    return (this.#calls.get(episodeId) ?? []).flatMap((sequence) => {
      const record = this.#store.find(sequence)?.record;
      return record?.kind === 'call' ? [record] : [];
    });
  }

  /** Returns the committed memos of an episode, in their order. */
  memos(episodeId: string): readonly MemoRecord[] {
    return (this.#memos.get(episodeId) ?? []).flatMap((sequence) => {
      const record = this.#store.find(sequence)?.record;
      return record?.kind === 'memo' ? [record] : [];
    });
  }

  /** Returns the committed end of an episode, or undefined if it has none or its file was removed. */
  end(episodeId: string): EndRecord | undefined {
    const sequence = this.#ends.get(episodeId);
    const record = sequence === undefined ? undefined : this.#store.find(sequence)?.record;
    return record?.kind === 'end' ? record : undefined;
  }

  #forget(episodeId: string): void {
    this.#calls.delete(episodeId);
    this.#memos.delete(episodeId);
    this.#ends.delete(episodeId);
  }
}

function add(all: Map<string, number[]>, episodeId: string, sequence: number): void {
  const numbers = all.get(episodeId) ?? [];
  all.set(episodeId, numbers);
  if (numbers.at(-1) !== sequence) numbers.push(sequence);
}
