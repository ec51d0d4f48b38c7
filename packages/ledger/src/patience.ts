import type { LeaseClock } from './lease-clock.js';
import type { GiveUpRecord, LedgerRecord } from './records.js';
import { seatStateOf } from './places.js';
import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/**
 * The time limits of the ledger: the leases of episodes, the time of groups since their first claim, and the time that
 * ended episodes wait for a reward. They are not recorded, so after a recovery every time limit starts again.
 *
 * All groups have the same time, and so have all rewards. The oldest is therefore the first that is late, and nobody has
 * to look at the others.
 */
export class Patience {
  readonly #clock: LeaseClock;
  readonly #leases = new Map<string, { readonly untilMs: number; readonly leaseMs: number }>();
  /** When the first attempt of each undecided group began, oldest first. */
  #groups = new Map<string, number>();
  /** Groups whose time is over. They wait for nothing until they change. */
  readonly #over = new Map<string, number>();
  readonly #changed = new Set<string>();
  /** When each episode without a reward ended, oldest first. */
  readonly #ends = new Map<string, number>();
  /** The number of calls in flight of each episode. */
  readonly #held = new Map<string, number>();

  constructor(clock: LeaseClock) {
    this.#clock = clock;
  }

  /** Lets the episode be silent for `leaseMs` from now on. */
  renew(episodeId: string, leaseMs: number): void {
    this.#leases.set(episodeId, { untilMs: this.#clock.read() + leaseMs, leaseMs });
  }

  /** Call this when the episode is over. */
  forget(episodeId: string): void {
    this.#leases.delete(episodeId);
    this.#ends.delete(episodeId);
  }

  /** Call this after a record has changed the group, and with each group of a recovered state. */
  note({ groups, episodes }: LedgerState, groupId: string): void {
    const group = groups.get(groupId);
    if (group === undefined || group.fate !== undefined) return this.#forgetGroup(groupId, group);
    const now = this.#clock.read();
    if (this.#over.has(groupId)) this.#changed.add(groupId);
    else if (!this.#groups.has(groupId) && isBegun(group)) this.#groups.set(groupId, now);
    for (const { episodeId } of group.places) {
      if (episodeId === undefined) continue;
      if (episodes.get(episodeId)?.state !== 'ended') this.#ends.delete(episodeId);
      else if (!this.#ends.has(episodeId)) this.#ends.set(episodeId, now);
    }
  }

  /** Looks at all groups again. Call this after a change of the rules. */
  restart(): void {
    const all = [...this.#over, ...this.#groups].sort(([, a], [, b]) => a - b);
    this.#groups = new Map(all);
    this.#over.clear();
    this.#changed.clear();
  }

  /**
   * Holds the lease while a call is in flight, so that it does not run out. When the hold is released, the lease starts
   * again.
   */
  hold(episodeId: string): () => void {
    this.#held.set(episodeId, (this.#held.get(episodeId) ?? 0) + 1);
    return () => {
      const left = (this.#held.get(episodeId) ?? 1) - 1;
      if (left > 0) this.#held.set(episodeId, left);
      else this.#release(episodeId);
    };
  }

  #release(episodeId: string): void {
    this.#held.delete(episodeId);
    const lease = this.#leases.get(episodeId);
    if (lease !== undefined) this.renew(episodeId, lease.leaseMs);
  }

  /** Returns the records of all time limits that have expired. */
  expired(state: LedgerState, rules: LedgerRules): LedgerRecord[] {
    const now = this.#clock.read();
    const outOfTime = this.#lateGroups(rules, now).flatMap((groupId) => state.groups.get(groupId) ?? []);
    const records: LedgerRecord[] = outOfTime.flatMap((group) => giveUpUnfilled(state, group, rules));
    const given = new Set(records.flatMap((record) => ('groupId' in record ? [record.groupId] : [])));
    for (const episodeId of this.#lateEpisodes(state, rules, now)) {
      const episode = state.episodes.get(episodeId);
      if (episode !== undefined && !given.has(episode.groupId)) records.push(dropLate(episode));
    }
    return records;
  }

  /** Returns the groups whose time is over since the last look, and those that have changed after it was over. */
  #lateGroups({ groupPatienceMs }: LedgerRules, now: number): readonly string[] {
    const late = [...this.#changed];
    this.#changed.clear();
    if (groupPatienceMs === null) return late;
    for (const [groupId, sinceMs] of this.#groups) {
      if (sinceMs + groupPatienceMs > now) break;
      this.#groups.delete(groupId);
      this.#over.set(groupId, sinceMs);
      late.push(groupId);
    }
    return late;
  }

  #lateEpisodes({ episodes }: LedgerState, { scorePatienceMs }: LedgerRules, now: number): readonly string[] {
    const late: string[] = [];
    for (const [id, { untilMs }] of this.#leases) if (untilMs <= now && !this.#held.has(id)) late.push(id);
    if (scorePatienceMs === null) return late;
    for (const [id, sinceMs] of this.#ends) {
      if (sinceMs + scorePatienceMs > now) break;
      if (episodes.get(id)?.state === 'ended') late.push(id);
      else this.#ends.delete(id);
    }
    return late;
  }

  #forgetGroup(groupId: string, group: LedgerGroup | undefined): void {
    for (const known of [this.#groups, this.#over, this.#changed]) known.delete(groupId);
    for (const episodeId of group?.episodeIds ?? []) this.#ends.delete(episodeId);
  }
}

const isBegun = ({ places }: LedgerGroup): boolean => places.some(({ attempts }) => attempts > 0);

function giveUpUnfilled(state: LedgerState, group: LedgerGroup, rules: LedgerRules): GiveUpRecord[] {
  const places = group.places.flatMap((place, index) => {
    const found = seatStateOf(state, group, { place, rules });
    return found === 'open' || found === 'taken' ? [index] : [];
  });
  return places.length === 0 ? [] : [{ kind: 'give_up', groupId: group.groupId, places, reason: 'group_expired' }];
}

/**
 * Drops the attempt of a silent client. If the score of an attempt does not arrive, the place is given up, because
 * another attempt would depend on the same judge.
 */
function dropLate({ groupId, episodeId, place, state }: LedgerEpisode): LedgerRecord {
  if (state === 'ended') return { kind: 'give_up', groupId, places: [place], reason: 'outage' };
  return { kind: 'drop', groupId, episodeId, reason: 'lease_expired', isCounted: true };
}
