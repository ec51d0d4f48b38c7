import type { DropReason } from './drop-reasons.js';
import { defaultPolicy } from './policies.js';
import type { FinishedEpisode, FinishedPart, FinishedRecord } from './records.js';
import { IdNumbers } from './store/id-numbers.js';

/** Counts of finished episodes. */
export type FinishedCounts = {
  trained: number;
  evaluated: number;
  /** Dropped before an end was accepted. */
  unfinished: number;
  /** Dropped after an end was accepted. */
  dropped: number;
  readonly droppedByReason: Partial<Record<DropReason, number>>;
};

/**
 * Groups that are over for good, with their episodes. Their other records may be gone. A late end or claim may name any
 * of these groups, so they are kept for the whole run. If the store has a record, memory keeps only its number, and the
 * record is read from the store.
 */
export class FinishedGroups {
  readonly #read: ReadFinished | undefined;
  /** Records that are kept in memory, because they are not in the store, or not yet. */
  readonly #held = new Map<string, FinishedRecord>();
  readonly #heldEpisodes = new Map<string, FinishedEpisode>();
  readonly #heldClaims = new Map<string, string>();
  readonly #stored = new IdNumbers();
  /** Counts by policy. The empty name counts every episode. */
  readonly #counts = new Map<string, FinishedCounts>();
  #size = 0;
  #latest: { readonly sequence: number; readonly record: FinishedRecord } | undefined;

  constructor(read?: ReadFinished) {
    this.#read = read;
  }

  /** The number of groups. */
  get size(): number {
    return this.#size;
  }

  /** The number of records that memory holds as a whole. */
  get numHeld(): number {
    return this.#held.size;
  }

  add(record: FinishedRecord): void {
    if (this.has(record.groupId)) return;
    this.#size++;
    this.#held.set(record.groupId, record);
    for (const episode of record.episodes) {
      this.#heldEpisodes.set(episode.episodeId, episode);
      this.#heldClaims.set(episode.claimId, episode.episodeId);
      this.#count(episode);
    }
  }

  /** Call this once the store has the record under this number, so that memory can drop it. */
  settle(sequence: number, { groupId, episodes }: FinishedRecord): void {
    if (this.#read === undefined || !this.#held.delete(groupId)) return;
    this.#stored.add(groupId, sequence);
    for (const { episodeId, claimId } of episodes) {
      this.#heldEpisodes.delete(episodeId);
      this.#heldClaims.delete(claimId);
      this.#stored.add(episodeId, sequence);
      this.#stored.add(claimId, sequence);
    }
  }

  has(groupId: string): boolean {
    return this.#held.has(groupId) || this.#find(groupId, (record) => record.groupId === groupId) !== undefined;
  }

  episode(episodeId: string): FinishedEpisode | undefined {
    const held = this.#heldEpisodes.get(episodeId);
    return held ?? this.#findEpisode(episodeId, (episode) => episode.episodeId === episodeId);
  }

  /** Returns the id of the episode that a claim began. */
  claimed(claimId: string): string | undefined {
    const held = this.#heldClaims.get(claimId);
    return held ?? this.#findEpisode(claimId, (episode) => episode.claimId === claimId)?.episodeId;
  }

  /** Returns the counts of a policy's parts. Without a policy, returns the counts of whole episodes. */
  countsOf(policy = ''): Readonly<FinishedCounts> {
    return this.#counts.get(policy) ?? noCounts();
  }

  /** Returns all episodes. Those in the store are read one by one. */
  *episodes(): Generator<FinishedEpisode> {
    yield* this.#heldEpisodes.values();
    for (const sequence of this.#stored.numbers()) yield* this.#read?.(sequence)?.episodes ?? [];
  }

  #findEpisode(id: string, isIt: (episode: FinishedEpisode) => boolean): FinishedEpisode | undefined {
    return this.#find(id, ({ episodes }) => episodes.some(isIt))?.episodes.find(isIt);
  }

  #find(id: string, isIt: (record: FinishedRecord) => boolean): FinishedRecord | undefined {
    for (const sequence of this.#stored.candidates(id)) {
      const record = this.#latest?.sequence === sequence ? this.#latest.record : this.#read?.(sequence);
      if (record === undefined || !isIt(record)) continue;
      this.#latest = { sequence, record };
      return record;
    }
    return undefined;
  }

  #count(episode: FinishedEpisode): void {
    const { parts = {}, bodyHash } = episode;
    this.#countPart('', episode, bodyHash !== undefined);
    for (const [policy, part] of Object.entries({ [defaultPolicy]: episode, ...parts }))
      this.#countPart(policy, part, bodyHash !== undefined);
  }

  #countPart(policy: string, { fate, reason }: FinishedPart, isAcknowledged: boolean): void {
    const counts = this.#counts.get(policy) ?? noCounts();
    this.#counts.set(policy, counts);
    if (fate === 'dropped' && !isAcknowledged) counts.unfinished++;
    else counts[fate]++;
    if (fate !== 'dropped' || !isAcknowledged || reason === undefined) return;
    counts.droppedByReason[reason] = (counts.droppedByReason[reason] ?? 0) + 1;
  }
}

/** Returns the record that the store has under a number. */
export type ReadFinished = (sequence: number) => FinishedRecord | undefined;

const noCounts = (): FinishedCounts => ({ trained: 0, evaluated: 0, unfinished: 0, dropped: 0, droppedByReason: {} });
