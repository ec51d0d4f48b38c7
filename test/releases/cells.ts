import { cellName, type Cell } from './cells/cell.js';
import { gpuCells } from './cells/gpu-cells.js';
import { microCells } from './cells/micro-cells.js';
import { nanoCells } from './cells/nano-cells.js';
import { smollm2Cells } from './cells/smollm2-cells.js';

/** All cells of the release table. A tutorial joins release tracking by one entry in a file of `cells`. */
export const cells: readonly Cell[] = [...nanoCells, ...microCells, ...smollm2Cells, ...gpuCells];

/**
 * Returns the cells that the command line asks for, or all cells if it names none. Throws Error for a name that no cell
 * has.
 */
export function chooseCells(wanted: {
  readonly only?: string | undefined;
  readonly backbone?: string | undefined;
  readonly cheapest?: boolean | undefined;
}): readonly Cell[] {
  const chosen = cells.filter(
    ({ tutorial, backbone }) =>
      (wanted.only === undefined || wanted.only === tutorial) &&
      (wanted.backbone === undefined || wanted.backbone === backbone),
  );
  if (chosen.length === 0)
    throw new Error(
      `No cell is ${wanted.only ?? 'any tutorial'} on ${wanted.backbone ?? 'any backbone'}. The cells are ${cells.map(cellName).join(', ')}.`,
    );
  return wanted.cheapest === true ? chosen.toSorted((a, b) => a.minutes - b.minutes).slice(0, 1) : chosen;
}
