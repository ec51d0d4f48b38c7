import { deriveSeed, evaluationSeed, passOrder, passSeed } from '@agentjet/core';
import { currentTable, defaultShare, tableName, tasksOf, type LedgerState, type TaskRecord } from '@agentjet/ledger';
import type { SwarmSettings } from './settings.js';
import type { DrawnTask, TaskPort } from './trainer-port.js';

/**
 * The table of tasks that clients post. Tasks are drawn in the order of an ordinary run with the same seed, pass by
 * pass. So two clients with the same list fill the same groups, and a restarted client continues with the current task
 * of the swarm. Nothing is drawn before the table is complete, because each new task would change the order of all
 * draws. When a new version replaces a table, the earlier draws keep their tasks, and the current pass begins again
 * with the new list.
 */
export class SwarmTasks implements TaskPort {
  readonly #state: LedgerState;
  readonly #settings: Pick<SwarmSettings, 'seed' | 'totalEpochs' | 'shuffle'>;
  readonly #tables = new Map<string, readonly string[]>();
  /** The numbers of tasks and of table versions when the tables were read. */
  #numRead = { tasks: -1, versions: -1 };
  #passSeed: { readonly of: number; readonly pass: number; readonly seed: number } | undefined;
  /**
   * The orders of the last two passes of each table. Both are needed, because groups of one pass are still claimed
   * while the next pass is drawn.
   */
  readonly #orders = new Map<string, readonly Order[]>();

  constructor(state: LedgerState, settings: Pick<SwarmSettings, 'seed' | 'totalEpochs' | 'shuffle'>) {
    this.#state = state;
    this.#settings = settings;
  }

  trainingTask = (draw: number, share: string, version?: number): DrawnTask | undefined => {
    const { table, ids, firstDraw, firstPass } = this.#find('train', share, version);
    const position = draw - firstDraw;
    const pass = firstPass + Math.max(0, Math.floor(position / ids.length));
    if (ids.length === 0 || pass >= this.#settings.totalEpochs) return undefined;
    // A draw that is older than the version and is repeated gets a task of the version.
    const index = ((position % ids.length) + ids.length) % ids.length;
    const seed = this.#seedOf(share, table, firstDraw);
    const order =
      this.#settings.shuffle === false ? undefined : this.#orderOf({ share, table, seed, pass }, ids.length);
    const taskId = ids[order === undefined ? index : (order[index] ?? 0)];
    return taskId === undefined ? undefined : { taskId, seed: this.#seedOfPass(seed, pass), pass, ...named(table) };
  };

  evaluationTask = (index: number, share: string, version?: number): DrawnTask | undefined => {
    const { ids, table } = this.#find('evaluation', share, version);
    const taskId = ids[index];
    if (taskId === undefined) return undefined;
    return { taskId, seed: evaluationSeed(this.#seedOf(share, 0, 0)), ...named(table) };
  };

  sizeOf = (): number => this.#find('train', defaultShare).ids.length;

  isComplete = (share: string): boolean => this.#find('train', share).ids.length > 0;

  /** Returns the pass of the next draw. It is 0 if the table is not complete. */
  passOf = (draw: number, share: string): number => {
    const { ids, firstDraw, firstPass } = this.#find('train', share);
    return ids.length === 0 ? firstPass : firstPass + Math.max(0, Math.floor((draw - firstDraw) / ids.length));
  };

  /** Keeps the last seed, because every claim asks for the same one several times. */
  #seedOfPass(of: number, pass: number): number {
    if (this.#passSeed?.of !== of || this.#passSeed.pass !== pass)
      this.#passSeed = { of, pass, seed: passSeed(of, pass) };
    return this.#passSeed.seed;
  }

  /** A later version gets other seeds, because its first pass repeats tasks of the pass that it replaces. */
  #seedOf(share: string, table: number, firstDraw: number): number {
    const { seed } = this.#settings;
    const own = share === defaultShare ? seed : deriveSeed(seed, 'share', share);
    return firstDraw === 0 ? own : deriveSeed(own, 'tasks', table);
  }

  /** Finds a version of a table. Default: the version from which tasks are drawn. */
  #find(split: Split, share: string, version?: number): FoundTable {
    const of = { share, ...(split === 'evaluation' && { split }) };
    const current = currentTable(this.#state, of);
    const table = version ?? current?.number ?? 0;
    const known = this.#state.tables.get(tableName(of))?.complete.find(({ number }) => number === table);
    const { firstDraw, firstPass } = known ?? { firstDraw: 0, firstPass: 0 };
    return { table, ids: this.#readIds(of, table), firstDraw, firstPass };
  }

  #readIds(of: { readonly share: string; readonly split?: 'evaluation' }, table: number): readonly string[] {
    const { tasks, tables } = this.#state;
    let versions = 0;
    for (const { complete } of tables.values()) versions += complete.length;
    if (this.#numRead.tasks !== tasks.size || this.#numRead.versions !== versions) this.#tables.clear();
    this.#numRead = { tasks: tasks.size, versions };
    const name = `${table} ${tableName(of)}`;
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const ids = idsOf(tasksOf(this.#state, of, table));
    this.#tables.set(name, ids);
    return ids;
  }

  #orderOf({ share, table, seed, pass }: OrderOf, numTasks: number): Uint32Array {
    const name = `${table} ${share}`;
    const [newest, older] = this.#orders.get(name) ?? [];
    if (newest?.pass === pass) return newest.indices;
    const indices = older?.pass === pass ? older.indices : passOrder(seed, pass, numTasks);
    this.#orders.set(name, [{ pass, indices }, ...(newest === undefined ? [] : [newest])]);
    return indices;
  }
}

type Split = 'train' | 'evaluation';
type FoundTable = {
  readonly table: number;
  readonly ids: readonly string[];
  readonly firstDraw: number;
  readonly firstPass: number;
};

const named = (table: number): Pick<DrawnTask, 'table'> => (table === 0 ? {} : { table });

type OrderOf = { readonly share: string; readonly table: number; readonly seed: number; readonly pass: number };
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
