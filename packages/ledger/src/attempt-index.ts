import { isTrainable, placeStateOf } from './places.js';
import type { LedgerRecord } from './records.js';
import type { LedgerRules } from './rules.js';
import { shareOf } from './shares.js';
import type { LedgerGroup, LedgerState } from './state.js';

/** Training groups that are sampled or pooled, in the order in which they began. */
export type Flight = {
  readonly groups: ReadonlyMap<string, LedgerGroup>;
  /** Those of them that a step could take now. */
  readonly trainable: ReadonlySet<LedgerGroup>;
  /** How many there are of each share. */
  readonly byShare: ReadonlyMap<string, number>;
};

/**
 * Which groups have an open place, which are in flight, and which attempts run. It follows from the state; it is kept so
 * that neither a claim nor the trainer looks at every group and episode of a large swarm.
 */
export class AttemptIndex {
  readonly #state: LedgerState;
  readonly #open = new Map<string, LedgerGroup>();
  readonly #running = new Map<string, string | undefined>();
  readonly #unscored = new Set<string>();
  readonly #undecided = new Map<string, LedgerGroup>();
  readonly #runningByKey = new Map<string, number>();
  readonly #flight = new Map<string, LedgerGroup>();
  readonly #trainable = new Set<LedgerGroup>();
  readonly #byShare = new Map<string, number>();
  /** The order in which groups began. */
  readonly #ranks = new WeakMap<LedgerGroup, number>();
  #numRanked = 0;

  constructor(state: LedgerState, rules: LedgerRules) {
    this.#state = state;
    for (const group of state.groups.values()) this.#noteGroup(group.groupId, rules);
    for (const episode of state.episodes.values()) {
      if (episode.state === 'running') this.#begin(episode);
      if (episode.state === 'ended') this.#unscored.add(episode.episodeId);
    }
  }

  get numRunning(): number {
    return this.#running.size;
  }

  get flight(): Flight {
    return { groups: this.#flight, trainable: this.#trainable, byShare: this.#byShare };
  }

  /** Running attempts that were claimed with this key. */
  numRunningOf(keyName: string): number {
    return this.#runningByKey.get(keyName) ?? 0;
  }

  /** Groups with an open place, oldest first. */
  openGroups(): readonly LedgerGroup[] {
    return [...this.#open.values()].sort((a, b) => (this.#ranks.get(a) ?? 0) - (this.#ranks.get(b) ?? 0));
  }

  /** Groups that are neither assigned nor over, oldest first. */
  get undecided(): Iterable<LedgerGroup> {
    return this.#undecided.values();
  }

  /** Ended episodes that wait for a reward. */
  *unscored(): Generator<string> {
    for (const episodeId of this.#unscored) {
      if (this.#state.episodes.get(episodeId)?.state === 'ended') yield episodeId;
      else this.#unscored.delete(episodeId);
    }
  }

  /** To be told of every record after it was applied. `cut`: running attempts that it dropped. */
  note(record: LedgerRecord, cut: Iterable<{ readonly episodeId: string }>, rules: LedgerRules): void {
    if (record.kind === 'call' || record.kind === 'memo') return;
    if (record.kind === 'claim') this.#begin(record);
    if (record.kind === 'end' || record.kind === 'drop') this.#finish(record.episodeId);
    if (record.kind === 'end') this.#unscored.add(record.episodeId);
    for (const { episodeId } of cut) this.#finish(episodeId);
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
    if (group !== undefined && group.fate === undefined) this.#undecided.set(groupId, group);
    else this.#undecided.delete(groupId);
    this.#noteFlight(groupId, group, rules);
  }

  #noteFlight(groupId: string, group: LedgerGroup | undefined, rules: LedgerRules): void {
    const known = this.#flight.get(groupId);
    if (group?.fate === undefined && group?.purpose === 'train') {
      if (known === undefined) this.#count(group, 1);
      this.#flight.set(groupId, group);
      if (isTrainable(this.#state, group, rules)) this.#trainable.add(group);
      else this.#trainable.delete(group);
    } else if (known !== undefined) {
      this.#flight.delete(groupId);
      this.#count(known, -1);
      this.#trainable.delete(known);
    }
  }

  #count(group: LedgerGroup, change: 1 | -1): void {
    const share = shareOf(group);
    this.#byShare.set(share, (this.#byShare.get(share) ?? 0) + change);
  }

  #begin({ episodeId, keyName }: { readonly episodeId: string; readonly keyName?: string }): void {
    this.#running.set(episodeId, keyName);
    if (keyName !== undefined) this.#runningByKey.set(keyName, this.numRunningOf(keyName) + 1);
  }

  #finish(episodeId: string): void {
    const keyName = this.#running.get(episodeId);
    if (!this.#running.delete(episodeId) || keyName === undefined) return;
    const left = this.numRunningOf(keyName) - 1;
    if (left > 0) this.#runningByKey.set(keyName, left);
    else this.#runningByKey.delete(keyName);
  }
}
