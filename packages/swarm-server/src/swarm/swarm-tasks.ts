import { deriveSeed, evaluationSeed, passOrder, passSeed } from '@agentjet/core';
import { defaultShare, type LedgerState, type TaskRecord } from '@agentjet/ledger';
import type { SwarmSettings } from './settings.js';
import type { DrawnTask, TaskPort } from './trainer-port.js';

/**
 * The table of tasks that clients post. Tasks are drawn in the order of an ordinary run with the same seed, pass by
 * pass. So two clients with the same list fill the same groups, and a restarted client continues with the current task
 * of the swarm. Nothing is drawn before the table is complete, because each new task would change the order of all
 * draws.
 */
export class SwarmTasks implements TaskPort {
  readonly #state: LedgerState;
  readonly #settings: Pick<SwarmSettings, 'seed' | 'totalEpochs' | 'shuffle'>;
  readonly #tables = new Map<string, readonly string[]>();
  #numRead = -1;
  /**
   * The orders of the last two passes of each share. Two are needed because groups of one pass are still claimed while
   * the next pass is drawn.
   */
  readonly #orders = new Map<string, readonly Order[]>();

  constructor(state: LedgerState, settings: Pick<SwarmSettings, 'seed' | 'totalEpochs' | 'shuffle'>) {
    this.#state = state;
    this.#settings = settings;
  }

  trainingTask = (draw: number, share: string): DrawnTask | undefined => {
    const ids = this.#readIds('train', share);
    const pass = Math.floor(draw / ids.length);
    if (ids.length === 0 || pass >= this.#settings.totalEpochs) return undefined;
    const index = draw % ids.length;
    const taskId = ids[this.#settings.shuffle === false ? index : (this.#orderOf(share, pass, ids.length)[index] ?? 0)];
    return taskId === undefined ? undefined : { taskId, seed: passSeed(this.#seedOf(share), pass), pass };
  };

  evaluationTask = (index: number, share: string): DrawnTask | undefined => {
    const taskId = this.#readIds('evaluation', share)[index];
    return taskId === undefined ? undefined : { taskId, seed: evaluationSeed(this.#seedOf(share)) };
  };

  sizeOf = (): number => this.#readIds('train', defaultShare).length;

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

  #orderOf(share: string, pass: number, numTasks: number): Uint32Array {
    const [newest, older] = this.#orders.get(share) ?? [];
    if (newest?.pass === pass) return newest.indices;
    const indices = older?.pass === pass ? older.indices : passOrder(this.#seedOf(share), pass, numTasks);
    this.#orders.set(share, [{ pass, indices }, ...(newest === undefined ? [] : [newest])]);
    return indices;
  }
}

type Order = { readonly pass: number; readonly indices: Uint32Array };

/**
 * Returns the ids of the tasks in the order of the table. The list is empty until a request has stated the total and no
 * task is missing.
 */
function idsOf(records: readonly TaskRecord[]): readonly string[] {
  const total = records.findLast((record) => record.total !== undefined)?.total;
  if (total !== records.length) return [];
  return records.toSorted((a, b) => a.index - b.index).map(({ taskId }) => taskId);
}
