import type { LeaseClock } from './lease-clock.js';
import type { GiveUpRecord, LedgerRecord } from './records.js';
import { isClosed, seatStateOf } from './places.js';
import type { LedgerRules } from './rules.js';
import type { LedgerEpisode, LedgerGroup, LedgerState } from './state.js';

/** The work that a time limit can change, because it is neither decided nor over. */
export type OpenWork = {
  readonly undecided: Iterable<LedgerGroup>;
  /** Ended episodes that wait for a reward. */
  readonly unscored: () => Iterable<string>;
};

/**
 * The time limits of the ledger: the leases of episodes, the time of groups since their first claim, and the time that
 * ended episodes wait for a reward. They are not recorded, so after a recovery every time limit starts again.
 */
export class Patience {
  readonly #clock: LeaseClock;
  readonly #leases = new Map<string, { readonly untilMs: number; readonly leaseMs: number }>();
  readonly #groups = new Map<string, number>();
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
  expired(state: LedgerState, rules: LedgerRules, open: OpenWork): LedgerRecord[] {
    const now = this.#clock.read();
    this.#forgetOver(state);
    const outOfTime = [...open.undecided].filter(
      (group) => this.#groupDueMs(state, group, { rules, now, untilMs: now }) <= now,
    );
    const records: LedgerRecord[] = outOfTime.flatMap((group) => giveUpUnfilled(state, group, rules));
    const given = new Set(outOfTime.map(({ groupId }) => groupId));
    for (const episodeId of this.#lateEpisodes(open, rules, now)) {
      const episode = state.episodes.get(episodeId);
      if (episode !== undefined && !given.has(episode.groupId)) records.push(dropLate(episode));
    }
    return records;
  }

  /**
   * Returns when the time of a group is over. Returns Infinity if it has no time limit, or if it is closed, because a
   * closed group waits for nothing. To save time, this is checked only if the group is due by `untilMs`.
   */
  #groupDueMs(
    state: LedgerState,
    group: LedgerGroup,
    { rules, now, untilMs }: { readonly rules: LedgerRules; readonly now: number; readonly untilMs: number },
  ): number {
    const isClaimed = group.places.some(({ attempts }) => attempts > 0);
    if (!isClaimed || rules.groupPatienceMs === null) return Infinity;
    const dueMs = sinceIn(this.#groups, group.groupId, now) + rules.groupPatienceMs;
    return dueMs <= untilMs && isClosed(state, group, rules) ? Infinity : dueMs;
  }

  #lateEpisodes({ unscored }: OpenWork, rules: LedgerRules, now: number): readonly string[] {
    const late: string[] = [];
    for (const [id, { untilMs }] of this.#leases) if (untilMs <= now && !this.#held.has(id)) late.push(id);
    for (const id of unscored()) if (this.#scoreDueMs(id, rules, now) <= now) late.push(id);
    return late;
  }

  #scoreDueMs(episodeId: string, { scorePatienceMs }: LedgerRules, now: number): number {
    return scorePatienceMs === null ? Infinity : sinceIn(this.#ends, episodeId, now) + scorePatienceMs;
  }

  #forgetOver(state: LedgerState): void {
    for (const id of this.#ends.keys()) if (state.episodes.get(id)?.state !== 'ended') this.#ends.delete(id);
    for (const id of this.#groups.keys()) if (state.groups.get(id)?.fate !== undefined) this.#groups.delete(id);
  }
}

function sinceIn(times: Map<string, number>, id: string, now: number): number {
  const since = times.get(id) ?? now;
  times.set(id, since);
  return since;
}

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
