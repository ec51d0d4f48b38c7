import { createRandom, deriveSeed } from '@agentjet/core';
import { defaultShare, type LedgerState, type TaskRecord } from '@agentjet/ledger';
import type { SwarmSettings } from './settings.js';
import type { DrawnTask, TaskPort } from './trainer-port.js';

/**
 * The table of tasks that clients post, drawn epoch by epoch in an order that follows from the seed. So two clients with
 * one list fill the same groups, and a restarted client goes on where the swarm is. Nothing is drawn before the table is
 * complete: a task more would give every later draw another meaning.
 */
export class TaskTable implements TaskPort {
  readonly #state: LedgerState;
  readonly #settings: Pick<SwarmSettings, 'seed' | 'totalEpochs'>;
  readonly #tables = new Map<string, readonly string[]>();
  #numRead = -1;
  /** Of the two epochs of each share that were asked for last: groups of one are still claimed while the next one is drawn. */
  readonly #orders = new Map<string, readonly Order[]>();

  constructor(state: LedgerState, settings: Pick<SwarmSettings, 'seed' | 'totalEpochs'>) {
    this.#state = state;
    this.#settings = settings;
  }

  trainingTask = (draw: number, share: string): DrawnTask | undefined => {
    const ids = this.#readIds('train', share);
    const epoch = Math.floor(draw / ids.length);
    if (ids.length === 0 || epoch >= this.#settings.totalEpochs) return undefined;
    const taskId = ids[this.#indicesOf(share, epoch, ids.length)[draw % ids.length] ?? 0];
    return taskId === undefined ? undefined : { taskId, seed: deriveSeed(this.#seedOf(share), 'epoch', epoch) };
  };

  evaluationTask = (index: number, share: string): DrawnTask | undefined => {
    const taskId = this.#readIds('evaluation', share)[index];
    return taskId === undefined ? undefined : { taskId, seed: deriveSeed(this.#seedOf(share), 'evaluation') };
  };

  isComplete = (share: string): boolean => this.#readIds('train', share).length > 0;

  #seedOf(share: string): number {
    const { seed } = this.#settings;
    return share === defaultShare ? seed : deriveSeed(seed, 'share', share);
  }

  #readIds(split: 'train' | 'evaluation', share: string): readonly string[] {
    const { tasks } = this.#state;
    if (this.#numRead !== tasks.size) this.#tables.clear();
    this.#numRead = tasks.size;
    const name = `${split} ${share}`;
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const isOf = (record: TaskRecord): boolean =>
      (record.split ?? 'train') === split && (record.share ?? defaultShare) === share;
    const ids = idsOf([...tasks.values()].filter(isOf));
    this.#tables.set(name, ids);
    return ids;
  }

  #indicesOf(share: string, epoch: number, length: number): readonly number[] {
    const [newest, older] = this.#orders.get(share) ?? [];
    if (newest?.epoch === epoch) return newest.indices;
    const indices =
      older?.epoch === epoch ? older.indices : shuffled(length, deriveSeed(this.#seedOf(share), 'order', epoch));
    this.#orders.set(share, [{ epoch, indices }, ...(newest === undefined ? [] : [newest])]);
    return indices;
  }
}

type Order = { readonly epoch: number; readonly indices: readonly number[] };

/** In the order of the table; none until the part that says the total has come and nothing is missing. */
function idsOf(records: readonly TaskRecord[]): readonly string[] {
  const total = records.findLast((record) => record.total !== undefined)?.total;
  if (total !== records.length) return [];
  return records.toSorted((a, b) => a.index - b.index).map(({ taskId }) => taskId);
}

/** Fisher and Yates. */
function shuffled(length: number, seed: number): readonly number[] {
  const random = createRandom(seed);
  const indices = Array.from({ length }, (_none, index) => index);
  for (let last = length - 1; last > 0; last--) {
    const chosen = random.int(last + 1);
    [indices[last], indices[chosen]] = [indices[chosen] ?? chosen, indices[last] ?? last];
  }
  return indices;
}
