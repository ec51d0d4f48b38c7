import { shareOf, type LedgerGroup } from '@agentjet/ledger';

/** The revisions of the agent code that clients reported for each share. Evaluations measure the newest one. */
export class Revisions {
  /** The revisions in order; the newest one is last. */
  readonly #byShare = new Map<string, string[]>();

  /** `groups` are the earlier draws, in order. */
  constructor(groups: Iterable<Readonly<LedgerGroup>>) {
    for (const group of groups) this.promote(shareOf(group), group.revision);
  }

  newestOf(share: string): string | undefined {
    return this.#byShare.get(share)?.at(-1);
  }

  has(share: string, revision: string): boolean {
    return this.#byShare.get(share)?.includes(revision) === true;
  }

  /** Makes it the newest revision of the share. */
  promote(share: string, revision: string): void {
    const others = (this.#byShare.get(share) ?? []).filter((each) => each !== revision);
    this.#byShare.set(share, [...others, revision]);
  }
}
