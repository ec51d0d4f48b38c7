import { cellName, type Cell } from './cells/cell.js';
import type { Verdict } from './gate.js';
import type { GatePlan } from './plan-gate.js';

/** The object that the gate prints. */
type GateCounts = {
  readonly cells: number;
  readonly red: number;
  readonly yellow: number;
  readonly green: number;
  /** Cells that did not fit into the time. It is missing if the time has no limit. */
  readonly not_reached?: number;
};

export type GateOutcome = {
  readonly counts: GateCounts;
  readonly verdicts: readonly (Verdict & { readonly cell: string })[];
};

type Listeners = {
  readonly say: (line: string) => void;
  /** Called after each cell with what is known by then, so that it can be kept. */
  readonly onVerdict?: (soFar: GateOutcome) => void;
};

/** A cell whose run crashes is red. The other cells still run. */
async function judgeSafely(
  cell: Cell,
  judge: (cell: Cell) => Promise<Verdict>,
  say: Listeners['say'],
): Promise<Verdict> {
  try {
    return await judge(cell);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    say(`${cellName(cell)}: ${message}`);
    const [firstLine = ''] = message.split('\n');
    return { color: 'red', reasons: [firstLine.replace(/:$/, '')] };
  }
}

function count(plan: GatePlan, verdicts: GateOutcome['verdicts'], notReached: number): GateCounts {
  const of = (wanted: Verdict['color']): number => verdicts.filter(({ color }) => color === wanted).length;
  const counts = { cells: plan.cells.length, red: of('red'), yellow: of('yellow'), green: of('green') };
  return plan.isLimited ? { ...counts, not_reached: notReached } : counts;
}

/** Judges one cell after another, as far as they fit into the time. It never rejects because of a cell. */
export async function gateCells(
  plan: GatePlan,
  judge: (cell: Cell) => Promise<Verdict>,
  { say, onVerdict }: Listeners,
): Promise<GateOutcome> {
  const verdicts: (Verdict & { readonly cell: string })[] = [];
  let notReached = 0;
  const known = (): GateOutcome => ({ counts: count(plan, verdicts, notReached), verdicts: [...verdicts] });
  for (const cell of plan.cells) {
    const name = cellName(cell);
    if (!plan.fits(cell)) {
      notReached++;
      say(`${name}: not reached in time`);
      continue;
    }
    const { color, reasons } = await judgeSafely(cell, judge, say);
    verdicts.push({ cell: name, color, reasons });
    say(`${name}: ${color}${reasons.map((reason) => `\n  ${reason}`).join('')}`);
    onVerdict?.(known());
  }
  return known();
}
