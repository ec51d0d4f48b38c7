import { shareOf, type LedgerGroup } from '@agentjet/ledger';

/** The revisions of the agent code that clients reported for each share. Evaluations measure the newest one. */
export class Revisions {
  /** The revisions of each share in the order in which they became the newest. */
  readonly #byShare = new Map<string, string[]>();

  /** `groups` are the groups so far, in the order of their draws. */
  constructor(groups: Iterable<Readonly<LedgerGroup>>) {
    for (const group of groups) this.promote(shareOf(group), group.revision);
  }

  newestOf(share: string): string | undefined {
    return this.#byShare.get(share)?.at(-1);
  }

  has(share: string, revision: string): boolean {
    return this.#byShare.get(share)?.includes(revision) === true;
  }

  /** Makes this the newest revision of the share. */
  promote(share: string, revision: string): void {
    const others = (this.#byShare.get(share) ?? []).filter((each) => each !== revision);
    this.#byShare.set(share, [...others, revision]);
  }
}
