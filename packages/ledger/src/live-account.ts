import { accountOf, type Account } from './account.js';
import type { DropReason } from './drop-reasons.js';
import type { LedgerRecord } from './records.js';
import type { EpisodeState, LedgerState } from './state.js';

/**
 * The account of a state that changes, kept up to date record by record. Counting all episodes of a long run for each question would
 * cost more with every step; a record changes few of them.
 */
export class LiveAccount {
  readonly #state: LedgerState;
  #counts: Counts;

  constructor(state: LedgerState) {
    this.#state = state;
    this.#counts = countAll(state);
  }

  get account(): Account {
    const { droppedByReason, ...counts } = this.#counts;
    const { trained, assigned, pooled, unscored, evaluated, dropped } = counts;
    const acknowledged = trained + assigned + pooled + unscored + evaluated + dropped;
    return { acknowledged, ...counts, droppedByReason: { ...droppedByReason } };
  }

  /** Applies a record with `apply`, and counts the episodes that it changes anew, also if `apply` throws. */
  around(record: LedgerRecord, apply: () => void): void {
    const touched = touchedBy(this.#state, record);
    for (const episodeId of touched) this.#add(episodeId, -1);
    try {
      apply();
    } finally {
      if (record.kind === 'rewound') this.#counts = countAll(this.#state); // rare, and it reaches far back
      for (const episodeId of touched) this.#add(episodeId, 1);
    }
  }

  /** To be called before an episode is removed from the state. */
  forget(episodeId: string): void {
    this.#add(episodeId, -1);
  }

  #add(episodeId: string, change: 1 | -1): void {
    const { episodes, finishedEpisodes } = this.#state;
    const live = episodes.get(episodeId);
    if (live !== undefined) return this.#count(live.state, { ...live, isAcknowledged: live.end !== undefined }, change);
    const over = finishedEpisodes.get(episodeId);
    if (over !== undefined) this.#count(over.fate, { ...over, isAcknowledged: over.bodyHash !== undefined }, change);
  }

  #count(
    fate: EpisodeState,
    { isAcknowledged, reason }: { readonly isAcknowledged: boolean; readonly reason?: DropReason | undefined },
    change: 1 | -1,
  ): void {
    const counts = this.#counts;
    if (fate === 'dropped' && !isAcknowledged) counts.unfinished += change;
    else counts[fate === 'ended' ? 'unscored' : fate] += change;
    if (fate !== 'dropped' || !isAcknowledged || reason === undefined) return;
    const left = (counts.droppedByReason[reason] ?? 0) + change;
    if (left > 0) counts.droppedByReason[reason] = left;
    else delete counts.droppedByReason[reason];
  }
}

type Counts = { -readonly [Key in Exclude<keyof Account, 'acknowledged' | 'droppedByReason'>]: number } & {
  readonly droppedByReason: Partial<Record<DropReason, number>>;
};

function countAll(state: LedgerState): Counts {
  const { acknowledged: _sum, droppedByReason, ...counts } = accountOf(state);
  return { ...counts, droppedByReason: { ...droppedByReason } };
}

/** The episodes whose state a record may change. */
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
      return placedIn(state, record.groupId);
    case 'evaluation':
      return record.groupIds.flatMap((groupId) => placedIn(state, groupId));
    case 'manifest':
      return idsIn(record.groups);
    case 'outcome':
      return idsIn(state.manifests.get(record.step)?.groups ?? []);
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
