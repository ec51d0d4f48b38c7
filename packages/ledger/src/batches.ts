import type { Ledger } from './ledger.js';
import { isClosed, membersOf } from './places.js';
import type { LedgerRules } from './rules.js';
import type { CallMark, LedgerGroup, LedgerState } from './state.js';

/** What one step takes, and whether another group may be drawn. Staleness is kept by waiting, not by dropping. */
export type BatchRules = LedgerRules & {
  /** Groups per step. */
  readonly batchSize: number;
  /** 1.0: as many groups as a batch holds; above 1 only with `maxStaleness` of at least 1. */
  readonly oversubscribe: number;
  readonly maxStaleness: number;
};

export type Batch =
  | { readonly kind: 'ready'; readonly groups: readonly LedgerGroup[] }
  | { readonly kind: 'sampling' }
  /** There are enough groups, but these would become too old if the step were made now. */
  | { readonly kind: 'held'; readonly by: readonly LedgerGroup[] };

type Flying = Pick<Ledger, 'state' | 'flight'>;

/** The oldest trainable groups, if they fill a batch. The last batch of a run that drains may be smaller. */
export function nextBatch(
  ledger: Flying,
  rules: BatchRules,
  { isLast = false }: { readonly isLast?: boolean } = {},
): Batch {
  const { groups, trainable } = ledger.flight;
  const isEnough = trainable.size >= rules.batchSize || (isLast && trainable.size > 0);
  if (!isEnough) return { kind: 'sampling' };
  const held = groupsHolding(ledger, rules);
  if (held.length > 0) return { kind: 'held', by: held };
  const ready = [...groups.values()].filter((group) => trainable.has(group));
  return { kind: 'ready', groups: ready.slice(0, rules.batchSize) };
}

/**
 * Open groups with a token that the next step would make older than `maxStaleness`. Only versions count: another
 * incarnation of the weights matters to the loss, not to the pacing.
 */
export function groupsHolding({ state, flight }: Flying, rules: BatchRules): LedgerGroup[] {
  const isTooOld = (call: CallMark): boolean => state.step + 1 - call.version > rules.maxStaleness;
  return [...flight.groups.values()].filter(
    (group) => !isClosed(state, group, rules) && membersOf(state, group).some(({ calls }) => calls.some(isTooOld)),
  );
}

/** Whether a new group may be drawn: not if the groups in flight cover the batch already. */
export function mayDraw({ flight }: Pick<Ledger, 'flight'>, rules: BatchRules): boolean {
  const share = rules.maxStaleness === 0 ? 1 : rules.oversubscribe;
  return flight.groups.size < Math.ceil(rules.batchSize * share);
}

export type NextDraw = { readonly draw: number; readonly tryIndex: number; readonly expiries: number };

/** The draw that makes the next group: one that came back, else a new one unless the run drains. */
export function nextDraw(state: LedgerState, { isDraining = false } = {}): NextDraw | undefined {
  for (const draw of state.returned) {
    const known = state.draws.get(draw);
    if (known !== undefined) return { draw, tryIndex: known.tryIndex + 1, expiries: known.expiries };
  }
  return isDraining ? undefined : { draw: state.nextDraw, tryIndex: 0, expiries: 0 };
}
