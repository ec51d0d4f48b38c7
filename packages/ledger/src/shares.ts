import type { ConfigRecord } from './records.js';
import type { LedgerState, PolicyLine } from './state.js';

/**
 * A share is a kind of task with its part of every batch. A part of a batch is seldom a whole number of groups, so
 * rounding errors are carried over to the next batch. In each batch, and in all batches together, the number of groups
 * of a share differs from its part by at most one.
 */

/** Names of shares with their parts; the parts add up to 1. */
export type Parts = Readonly<Record<string, number>>;

/**
 * Groups by share. In a carry, the number of a share is above 0 if the share has had too few groups, and below 0 if it
 * has had too many. The sum is 0.
 */
export type GroupsByShare = Readonly<Record<string, number>>;

/** The share of tasks that do not name a share. */
export const defaultShare = 'default';

export const shareOf = ({ share = defaultShare }: { readonly share?: string }): string => share;

/** The configuration key of the parts. */
export const sharesKey = 'swarm.shares';

/** Totals of each share in the batches so far. */
export type ShareAccount = {
  readonly carry: GroupsByShare;
  /** Groups trained since the run began. */
  readonly trained: GroupsByShare;
  /** Places of each share that other shares used. */
  readonly lent: GroupsByShare;
  /** Groups that the newest batch should have had. Absent for a batch without quotas. */
  readonly asked?: GroupsByShare;
  /** Groups that the newest batch had. Absent before the first batch. */
  readonly got?: GroupsByShare;
};

export const emptyAccount: ShareAccount = { carry: {}, trained: {}, lent: {} };

/** Smaller differences are rounding errors in the last digits. */
const tiny = 1e-9;

/**
 * Returns how many groups of each share a batch of `size` contains. Each share gets the whole number of groups in its
 * part. The remaining places go to the shares that would be owed a whole group soonest. Worked example: parts 0.6 and
 * 0.4, batches of 4: 2 and 2, owed 0.4 and -0.4; then 3 and 1, owed -0.2 and 0.2; ...
 */
export function quotasOf(parts: Parts, carry: GroupsByShare, size: number): GroupsByShare {
  const whole = Object.entries(parts).map(([share, part]) => {
    const exact = part * size;
    const base = Math.floor(exact + tiny);
    return { share, base, rest: exact - base, owed: carry[share] ?? 0 };
  });
  const left = size - whole.reduce((sum, { base }) => sum + base, 0);
  const chosen = whole
    .filter(({ rest }) => rest > tiny)
    .map((row) => ({ ...row, ...urgencyOf(row) }))
    .sort(byUrgency)
    .slice(0, Math.max(0, left));
  const extra = new Set(chosen.map(({ share }) => share));
  return Object.fromEntries(whole.map(({ share, base }) => [share, base + (extra.has(share) ? 1 : 0)]));
}

type Row = { readonly rest: number; readonly owed: number };
type Urgency = { readonly isEarly: boolean; readonly deadline: number; readonly isTight: boolean };

/**
 * `deadline`: the number of batches within which the share must get one group more than its whole part. Without it, the
 * share is owed a whole group. Serving the earliest deadline first keeps every share within one group (Baruah et al.,
 * "Proportionate progress", 1996).
 */
function urgencyOf({ rest, owed }: Row): Urgency {
  const batches = (1 - owed) / rest;
  return {
    isEarly: owed + rest <= tiny, // with one more group now, the share would have a whole group too many
    deadline: Math.ceil(batches - tiny),
    isTight: Math.abs(batches - Math.round(batches)) > tiny,
  };
}

function byUrgency(a: Row & Urgency, b: Row & Urgency): number {
  return (
    Number(a.isEarly) - Number(b.isEarly) ||
    a.deadline - b.deadline ||
    Number(b.isTight) - Number(a.isTight) ||
    b.rest - a.rest ||
    b.owed - a.owed
  );
}

/** Returns what is owed after a batch with these quotas. A share that no longer has a part is owed nothing. */
export function carryAfter(parts: Parts, carry: GroupsByShare, quotas: GroupsByShare): GroupsByShare {
  const size = Object.values(quotas).reduce((sum, count) => sum + count, 0);
  return Object.fromEntries(
    Object.entries(parts).map(([share, part]) => {
      const owed = (carry[share] ?? 0) + part * size - (quotas[share] ?? 0);
      return [share, Math.round(owed / tiny) * tiny || 0];
    }),
  );
}

type Configs = Pick<LedgerState, 'configs'>;

/**
 * Returns the parts that are valid for a step: those of the last change of the configuration that is valid for the
 * step, or those that the run began with.
 */
export function partsAt({ configs }: Configs, initial: Parts | undefined, step: number, policy = ''): Parts {
  const change = configs.findLast(
    (config) => firstStepOf(config, policy) <= step && config.changes[sharesKey] !== undefined,
  );
  return (change?.changes[sharesKey] as Parts | undefined) ?? initial ?? { [defaultShare]: 1 };
}

/** Returns the first step of a policy for which a change of the configuration is valid. */
const firstStepOf = ({ fromStep, fromSteps }: ConfigRecord, policy: string): number => fromSteps?.[policy] ?? fromStep;

type PartRules = { readonly parts?: Parts };

type NextOf = {
  readonly state: Configs;
  readonly line: Pick<PolicyLine, 'step'>;
  readonly policy: string;
};

/** Returns the parts that are valid for the next step of a policy. */
export const nextParts = ({ state, line, policy }: NextOf, { parts }: PartRules): Parts =>
  partsAt(state, parts, line.step + 1, policy);

/** Returns whether the run has named shares. Otherwise no report mentions shares. */
export const hasShares = ({ configs }: Configs, { parts }: PartRules): boolean =>
  parts !== undefined || configs.some(({ changes }) => changes[sharesKey] !== undefined);
