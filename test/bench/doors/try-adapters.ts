import { adapterChecks } from '../../adapters/adapter-checks.js';
import { benchFidelity, type FrameworkFidelity } from '../fidelity/bench.js';

/** `contract` is true if no promise of the contract suite is broken. */
export type AdapterCell = { readonly contract: boolean; readonly fidelity: boolean };

const numTransitions = 400;

/** Runs the contract suite of each adapter and random conversations through it. */
export async function tryAdapters(): Promise<Readonly<Record<string, AdapterCell>>> {
  const measured = await benchFidelity({ transitions: numTransitions });
  const cells: Record<string, AdapterCell> = {};
  for (const [name, check] of adapterChecks) {
    const { isKept } = await check();
    cells[name] = { contract: isKept, fidelity: isExact(measured[name]) };
  }
  return cells;
}

/** Returns whether each prompt continued the ids that the model generated, and no other ids. */
const isExact = (row: FrameworkFidelity | undefined): boolean =>
  row !== undefined && row.native === 1 && row.wrong_splices === 0;
