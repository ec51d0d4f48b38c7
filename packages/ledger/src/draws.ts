import { isAgreement, uncounted, type Collection, type Flying, type Look } from './collection.js';
import type { LedgerRules } from './rules.js';
import { mayDraw } from './window.js';
import { carryAfter, defaultShare, type GroupsByShare, partsAt, nextParts, type Parts, quotasOf } from './shares.js';

/** Finds the shares from which another group may be drawn. */

export type DrawRules = LedgerRules & {
  /** Number of groups per step. */
  readonly batchSize: number;
  /**
   * With 1.0, as many groups may be in flight as a batch has. A value above 1 requires a `maxStaleness` of at least 1.
   */
  readonly oversubscribe: number;
  readonly maxStaleness: number;
  /** The parts that the run begins with. If absent, there is one share. */
  readonly parts?: Parts;
  /** If true, a share for which no client works lends its places. Otherwise the batch waits for it. */
  readonly isElastic?: boolean;
  /** Default: `enough_tasks`. */
  readonly collection?: Collection;
  /**
   * `pool` (default): a step takes the oldest groups that can be trained. `drawn`: a step takes `batchSize` draws in
   * their order, including draws whose groups cannot be trained; `maxStaleness` is then the number of batches that may
   * be sampled ahead.
   */
  readonly order?: BatchOrder;
};

export type BatchOrder = 'pool' | 'drawn';

/**
 * Returns the shares that lack a group, ordered by how many groups they lack, the largest number first. Returns none if
 * the groups in flight fill all allowed batches.
 */
export function drawableShares(ledger: Flying, rules: DrawRules, look: Look = {}): readonly string[] {
  const { groups, byShare } = ledger.flight;
  if (rules.order === 'drawn') return mayDraw(ledger, rules, look) ? [defaultShare] : [];
  if (isAgreement(rules)) return look.isAgreed === true ? [] : evenShares(nextParts(ledger, rules), byShare, look);
  const extra = uncounted(ledger, rules);
  const needs = Object.entries(allowedGroups(ledger, rules)).map(([share, count]) => ({
    share,
    need: count + (extra[share] ?? 0) - (byShare.get(share) ?? 0),
  }));
  const lacking = needs.filter(({ need }) => need > 0).sort((a, b) => b.need - a.need);
  if (rules.isElastic !== true) return lacking.map(({ share }) => share);
  const most = mostAhead(rules) + Object.values(extra).reduce((sum, count) => sum + count, 0);
  if (groups.size >= most) return [];
  return [...lacking, ...borrowers(needs, look)].map(({ share }) => share);
}

const mostAhead = ({ batchSize, maxStaleness, oversubscribe }: DrawRules): number =>
  Math.ceil(batchSize * (maxStaleness === 0 ? 1 : oversubscribe));

type Need = { readonly share: string; readonly need: number };

/** Returns the shares that may use the places of shares for which no client works. */
function borrowers(needs: readonly Need[], { idle = new Set() }: Look): readonly Need[] {
  const sum = (rows: readonly Need[]): number => rows.reduce((total, { need }) => total + Math.abs(need), 0);
  const lendable = sum(needs.filter(({ share, need }) => need > 0 && idle.has(share)));
  const borrowed = sum(needs.filter(({ need }) => need < 0));
  return lendable > borrowed ? needs.filter(({ share, need }) => need <= 0 && !idle.has(share)) : [];
}

/** Returns how many groups of each share may be in flight: the quotas of the batches that may be sampled ahead. */
function allowedGroups({ policy, state, line, flight }: Flying, rules: DrawRules): GroupsByShare {
  const allowed: Record<string, number> = {};
  let { carry } = line.shares;
  let left = mostAhead(rules);
  for (let step = line.step + 1; left > 0; step++) {
    const parts = partsAt(state, rules.parts, step, policy);
    const isFirst = step === line.step + 1;
    const former = isFirst ? countFormer(flight.byShare, parts) : 0;
    const size = Math.min(rules.batchSize, left);
    const quotas = quotasOf(parts, carry, Math.max(0, size - former));
    for (const [share, count] of Object.entries(quotas)) allowed[share] = (allowed[share] ?? 0) + count;
    carry = carryAfter(parts, carry, quotas);
    left -= size;
  }
  return allowed;
}

/**
 * Returns the shares to draw from if there is no batch size. A share may then be at most one group ahead of its part.
 */
function evenShares(parts: Parts, have: ReadonlyMap<string, number>, { idle = new Set() }: Look): readonly string[] {
  const shares = Object.keys(parts).filter((share) => !idle.has(share));
  const weight = shares.reduce((sum, share) => sum + (parts[share] ?? 0), 0);
  const total = shares.reduce((sum, share) => sum + (have.get(share) ?? 0), 0);
  const leadOf = (share: string): number =>
    (have.get(share) ?? 0) - (((parts[share] ?? 0) / weight) * (total + 1) || 0);
  return shares.filter((share) => leadOf(share) <= 1e-9).sort((a, b) => leadOf(a) - leadOf(b));
}

/** Counts groups of shares that no longer have a part. */
function countFormer(byShare: ReadonlyMap<string, number>, parts: Parts): number {
  return [...byShare].reduce((sum, [share, count]) => sum + (parts[share] === undefined ? count : 0), 0);
}
