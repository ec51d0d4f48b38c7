import { cellName } from './cells/cell.js';
import type { CellResult } from './cell-result.js';

/** Joins results of one cell that were measured apart, such as the seeds that ran at the same time on other cores. */

/** The fields that all parts of a result must have in common. */
const shared = ['version', 'commit', 'clean', 'machine', 'libraries', 'model', 'model_sha256'] as const;

function requireEqual(parts: readonly CellResult[], field: keyof CellResult): void {
  const [first, other] = new Set(parts.map((part) => JSON.stringify(part[field])));
  if (other === undefined) return;
  const cell = parts[0] === undefined ? '' : cellName(parts[0]);
  throw new Error(`${cell}: ${field} is ${first} in one result and ${other} in another one. Join results of one kind.`);
}

const bySeed = (a: { readonly seed: number }, b: { readonly seed: number }): number => a.seed - b.seed;

function joinCell(parts: readonly [CellResult, ...CellResult[]]): CellResult {
  const [first] = parts;
  for (const field of shared) requireEqual(parts, field);
  const measured = parts.filter(({ seeds }) => seeds.length > 0); // a result without seeds has no configuration
  requireEqual(measured, 'config_sha256');
  const seeds = parts.flatMap((part) => part.seeds).toSorted(bySeed);
  const failed = parts.flatMap((part) => part.failed ?? []).toSorted(bySeed);
  const numbers = [...seeds, ...failed].map(({ seed }) => seed);
  const twice = numbers.find((seed, index) => numbers.indexOf(seed) !== index);
  if (twice !== undefined) throw new Error(`${cellName(first)}: seed ${twice} is in two results.`);
  if (seeds.length === 0) throw new Error(`${cellName(first)}: every seed failed, so there is nothing to keep.`);
  const { failed: _failed, ...rest } = measured[0] ?? first;
  const date =
    parts
      .map((part) => part.date)
      .toSorted()
      .at(-1) ?? first.date;
  return { ...rest, date, seeds, ...(failed.length > 0 && { failed }) };
}

/** Returns one result for each cell. Throws Error if the parts of a cell differ in their code, machine or settings. */
export function joinResults(parts: readonly CellResult[]): readonly CellResult[] {
  return [...new Set(parts.map(cellName))].flatMap((name) => {
    const [first, ...others] = parts.filter((part) => cellName(part) === name);
    return first === undefined ? [] : joinCell([first, ...others]);
  });
}
