import { placeStateOf } from './places.js';
import type { LedgerRecord } from './records.js';
import type { LedgerRules } from './rules.js';
import type { LedgerGroup, LedgerState } from './state.js';

/**
 * Which groups have an open place, and how many attempts run. It follows from the state; it is kept so that a claim does
 * not look at every group and episode of a large swarm.
 */
export class AttemptIndex {
  readonly #state: LedgerState;
  readonly #open = new Map<string, LedgerGroup>();
  readonly #running = new Set<string>();
  /** The order in which groups began. */
  readonly #ranks = new WeakMap<LedgerGroup, number>();
  #numRanked = 0;

  constructor(state: LedgerState, rules: LedgerRules) {
    this.#state = state;
    for (const group of state.groups.values()) this.#noteGroup(group.groupId, rules);
    for (const episode of state.episodes.values())
      if (episode.state === 'running') this.#running.add(episode.episodeId);
  }

  get numRunning(): number {
    return this.#running.size;
  }

  /** Groups with an open place, oldest first. */
  openGroups(): readonly LedgerGroup[] {
    return [...this.#open.values()].sort((a, b) => (this.#ranks.get(a) ?? 0) - (this.#ranks.get(b) ?? 0));
  }

  /** To be told of every record after it was applied. `cut`: running attempts that it dropped. */
  note(record: LedgerRecord, cut: Iterable<{ readonly episodeId: string }>, rules: LedgerRules): void {
    if (record.kind === 'call') return;
    if (record.kind === 'claim') this.#running.add(record.episodeId);
    if (record.kind === 'end' || record.kind === 'drop') this.#running.delete(record.episodeId);
    for (const { episodeId } of cut) this.#running.delete(episodeId);
    if (record.kind === 'manifest') for (const { groupId } of record.groups) this.#noteGroup(groupId, rules);
    else if (record.kind === 'evaluation') for (const groupId of record.groupIds) this.#noteGroup(groupId, rules);
    else if ('groupId' in record) this.#noteGroup(record.groupId, rules);
  }

  #noteGroup(groupId: string, rules: LedgerRules): void {
    const group = this.#state.groups.get(groupId);
    if (group !== undefined && !this.#ranks.has(group)) this.#ranks.set(group, this.#numRanked++);
    const isOpen =
      group !== undefined &&
      group.fate === undefined &&
      group.places.some((place) => placeStateOf(this.#state, place, rules) === 'open');
    if (isOpen) this.#open.set(groupId, group);
    else this.#open.delete(groupId);
  }
}
