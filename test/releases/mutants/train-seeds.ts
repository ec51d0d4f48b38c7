import { writeFile } from 'node:fs/promises';
import { it } from 'vitest';
import type { GateRun } from '../gate.js';
import { runTinyCell } from './tiny-cell.js';

/**
 * vitest runs this file, because vitest can change a source file as it is loaded. It trains the seeds SEEDS and writes
 * their figures to REPORT.
 */
it('trains the seeds', { timeout: 900_000 }, async () => {
  const runs: GateRun[] = [];
  for (const seed of (process.env['SEEDS'] ?? '').split(',').map(Number)) runs.push(await runTinyCell(seed));
  await writeFile(process.env['REPORT'] ?? '', JSON.stringify(runs));
});
