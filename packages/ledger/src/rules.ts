import { LedgerError } from './ledger-error.js';

/** The effect of a failed episode on its group. */
export type FailedEpisodePolicy = 'drop_group' | 'zero_reward' | 'partial_group';

/** The configured rules of places and groups. Times are in milliseconds of the lease clock; null means no limit. */
export type LedgerRules = {
  readonly failedEpisodePolicy: FailedEpisodePolicy;
  /** The number of attempts that may be lost to outages before a place is given up. */
  readonly maxAttempts: number;
  /**
   * Under partial_group: a group is trainable if at least this share of its places is filled, and at least two of them.
   */
  readonly minGroupShare: number;
  /** The time from the first claim of a group until its open and taken places are given up. */
  readonly groupPatienceMs: number | null;
  /** The time from an end without a reward until its place is given up. */
  readonly scorePatienceMs: number | null;
  /** How often a draw may return after its group expired. */
  readonly maxExpiries: number;
  /**
   * Decides what happens to a group that can no longer become trainable. If true, its running attempts are cut, and its
   * draw may return at once. If false, each of its places is tried once, so that the metrics of a step describe whole
   * groups.
   */
  readonly cutsDoomed: boolean;
};

const defaultRules: LedgerRules = {
  failedEpisodePolicy: 'partial_group',
  maxAttempts: 3,
  minGroupShare: 0.5,
  groupPatienceMs: 30 * 60_000,
  scorePatienceMs: 30 * 60_000,
  maxExpiries: 2,
  cutsDoomed: true,
};

/** Returns the defaults with some changes. Throws LedgerError `bad_rules`. */
export function createRules(changes: Partial<LedgerRules> = {}): LedgerRules {
  const rules = { ...defaultRules, ...changes };
  requireWhole('maxAttempts', rules.maxAttempts, 1);
  requireWhole('maxExpiries', rules.maxExpiries, 0);
  if (!(rules.minGroupShare > 0 && rules.minGroupShare <= 1)) {
    throw new LedgerError('bad_rules', `minGroupShare is ${rules.minGroupShare}; it must be over 0 and at most 1.`);
  }
  for (const name of ['groupPatienceMs', 'scorePatienceMs'] as const) {
    const value = rules[name];
    if (value !== null && !(value > 0)) {
      throw new LedgerError('bad_rules', `${name} is ${value}; it must be over 0, or null for no limit.`);
    }
  }
  return rules;
}

function requireWhole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new LedgerError('bad_rules', `${name} is ${value}; it must be a whole number of at least ${least}.`);
}
