import { createRandom, deriveSeed } from '@agentjet/core';
import type { LedgerState, TaskRecord } from '@agentjet/ledger';
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
  #tables: Record<'train' | 'evaluation', readonly string[]> = { train: [], evaluation: [] };
  #numRead = -1;
  #order: { readonly epoch: number; readonly indices: readonly number[] } = { epoch: -1, indices: [] };

  constructor(state: LedgerState, settings: Pick<SwarmSettings, 'seed' | 'totalEpochs'>) {
    this.#state = state;
    this.#settings = settings;
  }

  trainingTask = (draw: number): DrawnTask | undefined => {
    const ids = this.#readIds('train');
    const epoch = Math.floor(draw / ids.length);
    if (ids.length === 0 || epoch >= this.#settings.totalEpochs) return undefined;
    const taskId = ids[this.#indicesOf(epoch, ids.length)[draw % ids.length] ?? 0];
    return taskId === undefined ? undefined : { taskId, seed: deriveSeed(this.#settings.seed, 'epoch', epoch) };
  };

  evaluationTask = (index: number): DrawnTask | undefined => {
    const taskId = this.#readIds('evaluation')[index];
    return taskId === undefined ? undefined : { taskId, seed: deriveSeed(this.#settings.seed, 'evaluation') };
  };

  isComplete = (): boolean => this.#readIds('train').length > 0;

  #readIds(split: 'train' | 'evaluation'): readonly string[] {
    const { tasks } = this.#state;
    if (this.#numRead !== tasks.size) {
      const records = [...tasks.values()];
      this.#tables = {
        train: idsOf(records.filter((record) => record.split === undefined)),
        evaluation: idsOf(records.filter((record) => record.split === 'evaluation')),
      };
      this.#numRead = tasks.size;
    }
    return this.#tables[split];
  }

  #indicesOf(epoch: number, length: number): readonly number[] {
    if (this.#order.epoch !== epoch)
      this.#order = { epoch, indices: shuffled(length, deriveSeed(this.#settings.seed, 'order', epoch)) };
    return this.#order.indices;
  }
}

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
