import { accountOf, type Account } from './account.js';
import { episodePart, lineOf } from './policies.js';
import type { DropReason } from './drop-reasons.js';
import type { LedgerRecord } from './records.js';
import type { EpisodeState, LedgerState } from './state.js';

/**
 * The account of a changing state. Each record updates only the episodes that it changes, because counting all episodes
 * of a long run for each request would take too long.
 */
export class LiveAccount {
  readonly #state: LedgerState;
  /** Counts by policy; `overall` counts every episode. */
  readonly #counts = new Map<string, Counts>();

  constructor(state: LedgerState) {
    this.#state = state;
    this.#countAll();
  }

  /** Returns the counts of a policy's parts. For `overall`, returns the counts of whole episodes. */
  of(policy: string): Account {
    const { droppedByReason, ...counts } = this.#countsOf(policy);
    const { trained, assigned, pooled, unscored, evaluated, dropped } = counts;
    const acknowledged = trained + assigned + pooled + unscored + evaluated + dropped;
    return { acknowledged, ...counts, droppedByReason: { ...droppedByReason } };
  }

  /** Applies a record with `apply`, and recounts the episodes that it changes, even if `apply` throws. */
  around(record: LedgerRecord, apply: () => void): void {
    const touched = touchedBy(this.#state, record);
    for (const episodeId of touched) this.#add(episodeId, -1);
    try {
      apply();
    } finally {
      if (record.kind === 'rewound') this.#countAll(); // rare, and it changes episodes of many steps
      for (const episodeId of touched) this.#add(episodeId, 1);
    }
  }

  /** Call this before an episode is removed from the state. */
  forget(episodeId: string): void {
    this.#add(episodeId, -1);
  }

  #countAll(): void {
    this.#counts.clear();
    for (const policy of [overall, ...this.#state.lines.keys()]) {
      const { acknowledged: _sum, droppedByReason, ...counts } = accountOf(this.#state, policy || undefined);
      this.#counts.set(policy, { ...counts, droppedByReason: { ...droppedByReason } });
    }
  }

  #countsOf(policy: string): Counts {
    const known = this.#counts.get(policy) ?? noCounts();
    this.#counts.set(policy, known);
    return known;
  }

  #add(episodeId: string, change: 1 | -1): void {
    const { episodes, finished, groups } = this.#state;
    const live = episodes.get(episodeId);
    const over = live === undefined ? finished.episode(episodeId) : undefined;
    if (live !== undefined) {
      const isAcknowledged = live.end !== undefined;
      this.#count(overall, live.state, { reason: live.reason, isAcknowledged }, change);
      for (const policy of groups.get(live.groupId)?.policies ?? []) {
        const { state, reason } = episodePart(live, policy);
        this.#count(policy, state, { reason, isAcknowledged }, change);
      }
    } else if (over !== undefined) {
      const isAcknowledged = over.bodyHash !== undefined;
      this.#count(overall, over.fate, { reason: over.reason, isAcknowledged }, change);
      for (const [policy, part] of Object.entries(over.parts ?? {}))
        this.#count(policy, part.fate, { reason: part.reason, isAcknowledged }, change);
    }
  }

  #count(
    policy: string,
    fate: EpisodeState,
    { isAcknowledged, reason }: { readonly isAcknowledged: boolean; readonly reason: DropReason | undefined },
    change: 1 | -1,
  ): void {
    const counts = this.#countsOf(policy);
    if (fate === 'dropped' && !isAcknowledged) counts.unfinished += change;
    else counts[fate === 'ended' ? 'unscored' : fate] += change;
    if (fate !== 'dropped' || !isAcknowledged || reason === undefined) return;
    const left = (counts.droppedByReason[reason] ?? 0) + change;
    if (left > 0) counts.droppedByReason[reason] = left;
    else delete counts.droppedByReason[reason];
  }
}

/** The key of the account of whole episodes, for all policies together. */
export const overall = '';

type Counts = { -readonly [Key in Exclude<keyof Account, 'acknowledged' | 'droppedByReason'>]: number } & {
  readonly droppedByReason: Partial<Record<DropReason, number>>;
};

const noCounts = (): Counts => ({
  trained: 0,
  assigned: 0,
  pooled: 0,
  unscored: 0,
  evaluated: 0,
  dropped: 0,
  running: 0,
  unfinished: 0,
  droppedByReason: {},
});

/** Returns the episodes whose state a record may change. */
function touchedBy(state: LedgerState, record: LedgerRecord): readonly string[] {
  switch (record.kind) {
    case 'claim':
    case 'end':
    case 'drop':
      return [record.episodeId];
    case 'score':
      return record.scores.map(({ episodeId }) => episodeId);
    case 'give_up':
    case 'group_dropped':
    case 'part_dropped':
      return placedIn(state, record.groupId);
    case 'evaluation':
      return record.groupIds.flatMap((groupId) => placedIn(state, groupId));
    case 'manifest':
      return idsIn(record.groups);
    case 'outcome':
      return idsIn(lineOf(state, record.policy).manifests.get(record.step)?.groups ?? []);
    case 'finished':
      return record.episodes.map(({ episodeId }) => episodeId);
    default:
      return [];
  }
}

const placedIn = (state: LedgerState, groupId: string): readonly string[] =>
  (state.groups.get(groupId)?.places ?? []).flatMap(({ episodeId }) => episodeId ?? []);

const idsIn = (
  groups: readonly { readonly episodes: readonly { readonly episodeId: string }[] }[],
): readonly string[] => groups.flatMap(({ episodes }) => episodes.map(({ episodeId }) => episodeId));
