/**
 * `npx tsx test/doctor/make-runs.ts [name ...]` trains the planted and the healthy runs, and keeps their records. It
 * takes about a minute for each.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepRun } from './kept-run.js';
import { healthy } from './healthy.js';
import { plants } from './plants.js';

const wanted = process.argv.slice(2);
for (const { name, cause, open } of [...plants, ...healthy]) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'doctor-'));
  const began = performance.now();
  try {
    const { runDir } = await open({ experimentDir }).tune();
    const kind = cause === undefined ? 'healthy' : 'planted';
    const bytes = keepRun(String(runDir), {
      name: `${kind}.${name}`,
      cause: cause ?? null,
      origin: `test/doctor/plants.ts, "${name}"`,
    });
    console.log(`${kind}.${name}: ${bytes} bytes, ${Math.round((performance.now() - began) / 1000)} s`);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
  } finally {
    rmSync(experimentDir, { recursive: true, force: true });
  }
}
