/**
 * `npx tsx --tsconfig tsconfig.paths.json test/doctor/make-runs.ts [--out <folder>] [name ...]` trains the planted and
 * the healthy runs, and keeps their records. It takes about a minute for each.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { keepRun, recordsDir } from './kept-run.js';
import { healthyByOthers } from './by-others/healthy.js';
import { plantsByOthers } from './by-others/plants.js';
import { healthy } from './healthy.js';
import { plants } from './plants.js';

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: recordsDir } },
});
for (const { name, cause, open } of [...plants, ...healthy, ...plantsByOthers, ...healthyByOthers]) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'doctor-'));
  const began = performance.now();
  try {
    const { runDir } = await open({ experimentDir }).tune();
    const kind = cause === undefined ? 'healthy' : 'planted';
    const bytes = keepRun(String(runDir), {
      name: `${kind}.${name}`,
      dir: values.out,
      cause: cause ?? null,
      origin: `test/doctor/${name.startsWith('by-others.') ? 'by-others/' : ''}${kind === 'healthy' ? 'healthy' : 'plants'}.ts, "${name}"`,
    });
    console.log(`${kind}.${name}: ${bytes} bytes, ${Math.round((performance.now() - began) / 1000)} s`);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
  } finally {
    rmSync(experimentDir, { recursive: true, force: true });
  }
}
