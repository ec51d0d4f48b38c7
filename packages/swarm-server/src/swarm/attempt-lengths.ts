import type { Ledger, LedgerGroup, LedgerRecord } from '@agentjet/ledger';

/** An attempt that no step trains. The metrics compare its length with the lengths of trained episodes. */
export type LostAttempt = {
  readonly episodeId: string;
  /** The number of generated tokens. */
  readonly tokens: number;
  readonly seconds: number;
  /** Whether it was aborted, so that it has only a part of its tokens. */
  readonly isCut: boolean;
};

/**
 * Measures the lengths of attempts, and lists those that were lost since the last step. If a server trains early
 * episodes and drops late ones, it trains too many short episodes. Seconds are measured on the lease clock, and start
 * from 0 after a recovery.
 */
export class AttemptLengths {
  readonly #ledger: Ledger;
  /** For each policy: the attempts that its next step reports. */
  readonly #lost: ReadonlyMap<string, LostAttempt[]>;
  /** The claim times of attempts that are not yet in a step and are not lost. */
  readonly #begunMs = new Map<string, number>();

  constructor(ledger: Ledger, policies: readonly { readonly name: string }[]) {
    this.#ledger = ledger;
    this.#lost = new Map(policies.map(({ name }) => [name, []]));
    for (const { episodeId, state } of ledger.state.episodes.values())
      if (state === 'running' || state === 'ended' || state === 'pooled') this.begin(episodeId);
  }

  begin(episodeId: string): void {
    this.#begunMs.set(episodeId, this.#ledger.clock.read());
  }

  /** Seconds since the attempt was claimed. */
  secondsOf(episodeId: string): number {
    const begunMs = this.#begunMs.get(episodeId);
    return begunMs === undefined ? 0 : (this.#ledger.clock.read() - begunMs) / 1000;
  }

  /** Called when a running attempt was dropped. */
  cut(episodeId: string, tokens: number): void {
    this.#lose({ episodeId, tokens, seconds: this.secondsOf(episodeId), isCut: true });
  }

  /** Called with each record after it was applied, because any record may drop episodes that have ended. */
  note(record: LedgerRecord): void {
    if (record.kind === 'end') this.#noteEnded(record.episodeId);
    else if (record.kind === 'drop' || record.kind === 'group_dropped' || record.kind === 'give_up')
      for (const episodeId of this.#groupOf(record.groupId)?.episodeIds ?? []) this.#noteEnded(episodeId);
  }

  /** Returns the attempts that were lost since the policy's last step. `groups` are the groups of its next step. */
  take(policy: string, groups: readonly { readonly episodeIds: readonly string[] }[]): readonly LostAttempt[] {
    for (const { episodeIds } of groups) for (const episodeId of episodeIds) this.#begunMs.delete(episodeId);
    return this.#lost.get(policy)?.splice(0) ?? [];
  }

  #noteEnded(episodeId: string): void {
    const { end, state, groupId } = this.#ledger.state.episodes.get(episodeId) ?? {};
    if (end === undefined) return;
    if (this.#groupOf(groupId)?.purpose !== 'train') this.#begunMs.delete(episodeId);
    else if (state === 'dropped')
      this.#lose({ episodeId, tokens: end.tokens, seconds: end.seconds, isCut: end.status === 'outage' });
  }

  #groupOf(groupId = ''): Readonly<LedgerGroup> | undefined {
    return this.#ledger.state.groups.get(groupId);
  }

  #lose(attempt: LostAttempt): void {
    const groupId = this.#ledger.state.episodes.get(attempt.episodeId)?.groupId;
    if (!this.#begunMs.delete(attempt.episodeId) || this.#groupOf(groupId)?.purpose !== 'train') return;
    for (const lost of this.#lost.values()) {
      lost.push(attempt);
      if (lost.length > mostLost) lost.shift();
    }
  }
}

/** A step reports only the newest lost attempts, so that a manifest does not grow with an outage. */
const mostLost = 1000;
