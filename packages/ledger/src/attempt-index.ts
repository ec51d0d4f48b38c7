import { lookAtPlaces } from './places.js';
import { defaultPolicy, groupPart, policiesOf } from './policies.js';
import type { LedgerRecord } from './records.js';
import type { LedgerRules } from './rules.js';
import { shareOf } from './shares.js';
import type { LedgerGroup, LedgerState } from './state.js';

/** The training groups that are being sampled or are pooled for a policy, in the order in which they began. */
export type Flight = {
  readonly groups: ReadonlyMap<string, LedgerGroup>;
  /** The groups that a step could take now. */
  readonly trainable: ReadonlySet<LedgerGroup>;
  /** Groups of `order: drawn` that were dropped, and that no step has covered yet. */
  readonly idle: ReadonlyMap<string, LedgerGroup>;
  /** The number of groups of each share. */
  readonly byShare: ReadonlyMap<string, number>;
};

/**
 * Indexes groups with an open place, groups in flight, and running attempts. The state contains the same facts. With
 * the index, a claim and the trainer do not have to visit every group and episode of a large swarm.
 */
export class AttemptIndex {
  readonly #state: LedgerState;
  readonly #open = new Map<string, LedgerGroup>();
  readonly #running = new Map<string, string | undefined>();
  readonly #undecided = new Map<string, LedgerGroup>();
  readonly #runningByKey = new Map<string, number>();
  readonly #flights = new Map<string, OpenFlight>([[defaultPolicy, createFlight()]]);
  /** The order in which groups began. */
  readonly #ranks = new WeakMap<LedgerGroup, number>();
  #numRanked = 0;

  constructor(state: LedgerState, rules: LedgerRules) {
    this.#state = state;
    for (const group of state.groups.values()) this.#noteGroup(group.groupId, rules);
    for (const episode of state.episodes.values()) {
      if (episode.state === 'running') this.#begin(episode);
    }
  }

  get numRunning(): number {
    return this.#running.size;
  }

  /**
   * Returns the ids of attempts that neither ended nor were dropped, oldest first. The caller may drop attempts while it
   * iterates.
   */
  get running(): Iterable<string> {
    return this.#running.keys();
  }

  /** Returns the groups that a policy has in flight. */
  flightOf(policy: string): Flight {
    return this.#flights.get(policy) ?? createFlight();
  }

  /** Returns the number of running attempts that were claimed with this key. */
  numRunningOf(keyName: string): number {
    return this.#runningByKey.get(keyName) ?? 0;
  }

  /** Returns groups with an open place, oldest first. */
  openGroups(): readonly LedgerGroup[] {
    const groups = [...this.#open.values()];
    return groups.length < 2 ? groups : groups.sort((a, b) => (this.#ranks.get(a) ?? 0) - (this.#ranks.get(b) ?? 0));
  }

  /** Returns groups that are neither assigned nor over, oldest first. */
  get undecided(): Iterable<LedgerGroup> {
    return this.#undecided.values();
  }

  /** Call this for every record after it was applied. `cut`: running attempts that the record dropped. */
  note(record: LedgerRecord, cut: Iterable<{ readonly episodeId: string }>, rules: LedgerRules): void {
    if (record.kind === 'call' || record.kind === 'memo') return;
    if (record.kind === 'claim') this.#begin(record);
    if (record.kind === 'end' || record.kind === 'drop') this.#finish(record.episodeId);
    for (const { episodeId } of cut) this.#finish(episodeId);
    for (const groupId of groupIdsOf(record)) this.#noteGroup(groupId, rules);
  }

  #noteGroup(groupId: string, rules: LedgerRules): void {
    const group = this.#state.groups.get(groupId);
    if (group !== undefined && !this.#ranks.has(group)) this.#ranks.set(group, this.#numRanked++);
    const places = group === undefined ? undefined : lookAtPlaces(this.#state, group, rules);
    if (group !== undefined && group.fate === undefined && places?.isOpen === true) this.#open.set(groupId, group);
    else this.#open.delete(groupId);
    if (group !== undefined && group.fate === undefined) this.#undecided.set(groupId, group);
    else this.#undecided.delete(groupId);
    if (group !== undefined && group.purpose === 'train') {
      for (const policy of policiesOf(group)) if (!this.#flights.has(policy)) this.#flights.set(policy, createFlight());
    }
    for (const [policy, flight] of this.#flights) {
      const isIn = group?.purpose === 'train' && policiesOf(group).includes(policy);
      if (isIn && groupPart(group, policy).fate === undefined) this.#fly(flight, group, places?.isTrainable === true);
      else land(flight, groupId);
      if (isIn && isIdle(group, policy)) flight.idle.set(groupId, group);
      else flight.idle.delete(groupId);
    }
  }

  #fly(flight: OpenFlight, group: LedgerGroup, isTrainable: boolean): void {
    if (!flight.groups.has(group.groupId)) count(flight, group, 1);
    flight.groups.set(group.groupId, group);
    if (isTrainable) flight.trainable.add(group);
    else flight.trainable.delete(group);
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

/** Returns the groups that a record changes. */
export function groupIdsOf(record: LedgerRecord): readonly string[] {
  if (record.kind === 'manifest') return [...record.groups, ...(record.idle ?? [])].map(({ groupId }) => groupId);
  if (record.kind === 'evaluation') return record.groupIds;
  return 'groupId' in record ? [record.groupId] : [];
}

type OpenFlight = {
  readonly groups: Map<string, LedgerGroup>;
  readonly trainable: Set<LedgerGroup>;
  readonly idle: Map<string, LedgerGroup>;
  readonly byShare: Map<string, number>;
};

const createFlight = (): OpenFlight => ({
  groups: new Map(),
  trainable: new Set(),
  idle: new Map(),
  byShare: new Map(),
});

function isIdle(group: LedgerGroup, policy: string): boolean {
  const { fate, step } = groupPart(group, policy);
  return group.isDrawn === true && fate !== undefined && fate !== 'assigned' && step === undefined;
}

function land(flight: OpenFlight, groupId: string): void {
  const known = flight.groups.get(groupId);
  if (known === undefined) return;
  flight.groups.delete(groupId);
  count(flight, known, -1);
  flight.trainable.delete(known);
}

function count({ byShare }: OpenFlight, group: LedgerGroup, change: 1 | -1): void {
  const share = shareOf(group);
  byShare.set(share, (byShare.get(share) ?? 0) + change);
}
