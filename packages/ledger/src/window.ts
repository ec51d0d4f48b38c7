import type { Flying, Look } from './collection.js';
import { scheduleOf, type LedgerGroup } from './state.js';

/**
 * Windows of `order: drawn`. A window is a fixed number of draws of a share, in the order in which an ordinary run
 * takes them. A draw belongs to the next window until a step has covered it, either by training its group or by
 * reporting that nothing could be trained.
 */

type WindowRules = { readonly batchSize: number; readonly maxStaleness: number };

export type DrawWindow = {
  /** Groups in the order of their draws. */
  readonly trainable: readonly LedgerGroup[];
  /** Dropped groups of these draws, including earlier tries. */
  readonly idle: readonly LedgerGroup[];
  /** The number of draws that are over: trainable, or given up for good. */
  readonly sampled: number;
};

/** Returns the drawn part of the next window. */
export function nextWindow(ledger: Flying, { batchSize }: WindowRules): DrawWindow {
  const draws = new Set(openDraws(ledger).slice(0, batchSize));
  const { groups, trainable, idle } = ledger.flight;
  const { returned } = scheduleOf(ledger.state);
  const isIn = ({ draw }: LedgerGroup): boolean => draws.has(draw);
  const inOrder = (found: Iterable<LedgerGroup>): readonly LedgerGroup[] =>
    [...found].filter(isIn).sort((a, b) => a.draw - b.draw || a.tryIndex - b.tryIndex);
  const waiting = new Set(returned);
  for (const group of groups.values()) if (!trainable.has(group)) waiting.add(group.draw);
  return {
    trainable: inOrder(trainable),
    idle: inOrder(idle.values()),
    sampled: [...draws].filter((draw) => !waiting.has(draw)).length,
  };
}

/**
 * Returns whether another group may be drawn: one whose draw returned, or a new one if it belongs to a batch that may
 * be sampled now. The batch of step `s` may be sampled once the loop has finished step `s - 1 - maxStaleness`, so that
 * none of its tokens can become too old.
 */
export function mayDraw(ledger: Flying, { batchSize, maxStaleness }: WindowRules, look: Look): boolean {
  const { step } = ledger.line;
  const { doneStep = step, lastStep = Infinity } = look;
  const batches = Math.min(1 + maxStaleness - (step - doneStep), lastStep - step);
  return scheduleOf(ledger.state).returned.size > 0 || openDraws(ledger).length < batches * batchSize;
}

/** Returns draws that no step has covered, ascending. */
function openDraws({ state, flight }: Flying): readonly number[] {
  const found = new Set(scheduleOf(state).returned);
  for (const { draw } of flight.groups.values()) found.add(draw);
  for (const { draw } of flight.idle.values()) found.add(draw);
  return [...found].sort((a, b) => a - b);
}
