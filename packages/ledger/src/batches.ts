import { drawableShares, type DrawRules } from './draws.js';
import { isClosed, membersOf } from './places.js';
import { isOf } from './policies.js';
import {
  carryAfter,
  defaultShare,
  type GroupsByShare,
  hasShares,
  nextParts,
  quotasOf,
  shareOf,
  type ShareAccount,
} from './shares.js';
import { scheduleOf, type CallMark, type LedgerGroup, type LedgerState, type PolicyLine } from './state.js';
import { isAgreement, uncounted, type Flying, type Look } from './collection.js';
import { nextWindow } from './window.js';

/**
 * Rules for what one step takes and whether another group may be drawn. If another group could become too stale, it is
 * not drawn yet. No group is dropped because of staleness.
 */
export type BatchRules = DrawRules;

export type FormedBatch =
  | {
      readonly kind: 'ready';
      readonly groups: readonly LedgerGroup[];
      /** Under `order: drawn`: the dropped groups of the batch's draws. */
      readonly idle?: readonly LedgerGroup[];
      /** The totals of the shares after this batch. Absent in a run without shares. */
      readonly shares?: ShareAccount;
    }
  | { readonly kind: 'sampling' }
  /** There are enough groups. The step must wait, because it would make the groups of `by` too old. */
  | { readonly kind: 'held'; readonly by: readonly LedgerGroup[] };

/** Returns the oldest trainable groups of each share if they fill a batch. The last batch of a run may be smaller. */
export function nextBatch(ledger: Flying, rules: BatchRules, look: Look = {}): FormedBatch {
  if (rules.order === 'drawn') return windowBatch(ledger, rules, look);
  const chosen = chooseGroups(ledger, rules, look);
  if (chosen === undefined) return { kind: 'sampling' };
  const held = groupsHolding(ledger, rules);
  if (held.length > 0) return { kind: 'held', by: held };
  const { groups, shares } = chosen;
  return { kind: 'ready', groups: groups.toSorted(byDraw), ...(hasShares(ledger.state, rules) && { shares }) };
}

/** Orders groups so that the order within a batch does not depend on which group was redrawn first. */
function byDraw(a: LedgerGroup, b: LedgerGroup): number {
  const [shareA, shareB] = [shareOf(a), shareOf(b)];
  if (shareA === shareB) return a.draw - b.draw;
  return shareA < shareB ? -1 : 1;
}

/**
 * Returns the groups of the next draws in their order, once each of these draws is over. The last window of a run may
 * have fewer draws.
 */
function windowBatch(ledger: Flying, rules: BatchRules, { isLast = false }: Look): FormedBatch {
  const { trainable, idle, sampled } = nextWindow(ledger, rules);
  const isWhole = isLast ? trainable.length + idle.length > 0 : sampled === rules.batchSize;
  return isWhole ? { kind: 'ready', groups: trainable, idle } : { kind: 'sampling' };
}

type Chosen = { readonly groups: readonly LedgerGroup[]; readonly shares: ShareAccount };

function chooseGroups(ledger: Flying, rules: BatchRules, look: Look): Chosen | undefined {
  const { line, flight } = ledger;
  const { size } = flight.trainable;
  const isAsked = look.isAgreed === true || look.isLast === true;
  const isEnough = isAgreement(rules)
    ? isAsked && size === flight.groups.size
    : size >= rules.batchSize || look.isLast === true;
  if (!isEnough || size === 0) return undefined;
  const ready = [...flight.groups.values()].filter((group) => flight.trainable.has(group));
  if (isAgreement(rules)) return { groups: ready, shares: accountAfter(line, ready) };
  return composeBatch(ledger, rules, { look, ready });
}

type Found = { readonly look: Look; readonly ready: readonly LedgerGroup[] };

/**
 * Takes groups of each share up to its quota. If groups are missing, groups of other shares may take their places. The
 * last batch of a run may be smaller.
 */
function composeBatch(ledger: Flying, rules: BatchRules, { look, ready }: Found): Chosen | undefined {
  const { line } = ledger;
  const { own, short, quotas, parts } = quotaGroups(ledger, rules, ready);
  const missing = Object.values(short).reduce((sum, count) => sum + count, 0);
  const carry = carryAfter(parts, line.shares.carry, quotas);
  const chosen = new Set(own);
  const inOrder = (): readonly LedgerGroup[] => ready.filter((group) => chosen.has(group));
  if (missing === 0) return { groups: inOrder(), shares: accountAfter(line, own, { carry, asked: quotas }) };
  const others = ready.filter((group) => !chosen.has(group)).slice(0, missing);
  if (others.length === missing && mayFill(ledger, rules, { look, short })) {
    for (const group of others) chosen.add(group);
    const groups = inOrder();
    return { groups, shares: accountAfter(line, groups, { carry, lent: short, asked: quotas }) };
  }
  if (look.isLast !== true) return undefined;
  const last = ready.slice(0, own.length + missing);
  return { groups: last, shares: accountAfter(line, last, { asked: quotas }) };
}

/** Returns how many more groups of each share the next batch needs. Shares that need none are left out. */
export function missingGroups(ledger: Flying, rules: BatchRules): GroupsByShare {
  if (rules.order !== 'drawn') return quotaGroups(ledger, rules, [...ledger.flight.trainable]).short;
  const missing = rules.batchSize - nextWindow(ledger, rules).sampled;
  return missing > 0 ? { [defaultShare]: missing } : {};
}

/** Finds the groups that the quota of each share covers, and the number of groups that each share lacks. */
function quotaGroups(ledger: Flying, rules: BatchRules, ready: readonly LedgerGroup[]) {
  const parts = nextParts(ledger, rules);
  const former = ready.filter((group) => parts[shareOf(group)] === undefined).slice(0, rules.batchSize);
  const quotas = quotasOf(parts, ledger.line.shares.carry, rules.batchSize - former.length);
  return { ...chooseOwn(ready, { former, quotas, extra: uncounted(ledger, rules) }), quotas, parts };
}

type Wanted = {
  readonly former: readonly LedgerGroup[];
  readonly quotas: GroupsByShare;
  readonly extra: GroupsByShare;
};

/** Returns the oldest groups of each share up to its quota, and how many groups the share lacks. */
function chooseOwn(
  ready: readonly LedgerGroup[],
  { former, quotas, extra }: Wanted,
): { readonly own: readonly LedgerGroup[]; readonly short: GroupsByShare } {
  const own = [...former];
  const short: Record<string, number> = {};
  for (const [share, quota] of Object.entries(quotas)) {
    const wanted = quota + (extra[share] ?? 0);
    const found = ready.filter((group) => shareOf(group) === share).slice(0, wanted);
    own.push(...found);
    if (found.length < wanted) short[share] = wanted - found.length;
  }
  return { own, short };
}

/**
 * Returns whether groups of other shares may take the places of the shares that lack groups. They may if `isElastic` is
 * true, no group of those shares is being sampled, and no client could draw one.
 */
function mayFill(
  ledger: Flying,
  rules: BatchRules,
  { look, short }: { readonly look: Look; readonly short: GroupsByShare },
): boolean {
  if (rules.isElastic !== true) return false;
  const { groups, trainable } = ledger.flight;
  const sampled = new Set([...groups.values()].filter((group) => !trainable.has(group)).map(shareOf));
  const drawable = drawableShares(ledger, rules, look);
  return Object.keys(short).every(
    (share) => !sampled.has(share) && (look.idle?.has(share) === true || !drawable.includes(share)),
  );
}

/** Returns the totals of the shares once these groups are trained. */
function accountAfter(
  { shares }: PolicyLine,
  groups: readonly LedgerGroup[],
  { carry = shares.carry, lent = {}, asked }: Partial<Pick<ShareAccount, 'carry' | 'lent' | 'asked'>> = {},
): ShareAccount {
  const got: Record<string, number> = {};
  for (const group of groups) got[shareOf(group)] = (got[shareOf(group)] ?? 0) + 1;
  return {
    carry,
    trained: add(shares.trained, got),
    lent: add(shares.lent, lent),
    got,
    ...(asked !== undefined && { asked }),
  };
}

function add(one: GroupsByShare, other: GroupsByShare): GroupsByShare {
  const sum: Record<string, number> = { ...one };
  for (const [share, count] of Object.entries(other)) sum[share] = (sum[share] ?? 0) + count;
  return sum;
}

/**
 * Returns open groups with a token that the next step would make older than `maxStaleness`. The age is a difference of
 * versions. The incarnation of the weights matters to the loss and is ignored here.
 */
function groupsHolding({ policy, state, line, flight }: Flying, rules: BatchRules): LedgerGroup[] {
  const isTooOld = (call: CallMark): boolean => isOf(call, policy) && line.step + 1 - call.version > rules.maxStaleness;
  return [...flight.groups.values()].filter(
    (group) => !isClosed(state, group, rules) && membersOf(state, group).some(({ calls }) => calls.some(isTooOld)),
  );
}

export type NextDraw = { readonly draw: number; readonly tryIndex: number; readonly expiries: number };

/**
 * Returns the draw that makes the next group of a share: a returned draw if there is one, else a new draw unless the
 * run drains.
 */
export function nextDraw(
  state: LedgerState,
  { share = defaultShare, isDraining = false }: { readonly share?: string; readonly isDraining?: boolean } = {},
): NextDraw | undefined {
  const schedule = scheduleOf(state, share);
  for (const draw of schedule.returned) {
    const known = schedule.draws.get(draw);
    if (known !== undefined) return { draw, tryIndex: known.tryIndex + 1, expiries: known.expiries };
  }
  return isDraining ? undefined : { draw: schedule.nextDraw, tryIndex: 0, expiries: 0 };
}
