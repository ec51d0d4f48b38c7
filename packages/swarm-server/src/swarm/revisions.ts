import { shareOf, type LedgerGroup } from '@agentjet/ledger';

/** The revisions of the agent code of each share that clients came with; the newest one is that which an evaluation measures. */
export class Revisions {
  /** The newest one last. */
  readonly #byShare = new Map<string, string[]>();

  /** `groups`: what was drawn before, in its order. */
  constructor(groups: Iterable<Readonly<LedgerGroup>>) {
    for (const group of groups) this.promote(shareOf(group), group.revision);
  }

  newestOf(share: string): string | undefined {
    return this.#byShare.get(share)?.at(-1);
  }

  has(share: string, revision: string): boolean {
    return this.#byShare.get(share)?.includes(revision) === true;
  }

  /** From now on it is the newest one of the share. */
  promote(share: string, revision: string): void {
    const others = (this.#byShare.get(share) ?? []).filter((each) => each !== revision);
    this.#byShare.set(share, [...others, revision]);
  }
}
