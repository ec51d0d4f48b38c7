/**
 * `npx tsx --tsconfig tsconfig.paths.json test/doctor/make-runs.ts [--out <folder>] [name ...]` trains the planted and
 * the healthy runs, and keeps their records. It takes about a minute for each.
 */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { WorkflowError, type JobResult } from 'agentjet';
import { keepRun, recordsDir } from './kept-run.js';
import { healthyByOthers } from './by-others/healthy.js';
import { moreHealthy } from './by-others/more-healthy.js';
import { morePlants } from './by-others/more-plants.js';
import { plantsByOthers } from './by-others/plants.js';
import { healthyOfRound3, plantsOfRound3 } from './by-others/round-3.js';
import { healthyOfRound4, plantsOfRound4 } from './by-others/round-4.js';
import { healthy } from './healthy.js';
import { healthyOfRound5 } from './round-5.js';
import type { Plant } from './plant.js';
import { plants } from './plants.js';

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: recordsDir } },
});

const tellSuccess = ({ successBefore, successAfter }: JobResult): string =>
  `success ${successBefore} -> ${successAfter}`;

/** Returns the error of a run that ended early because no step trained anything. Such a run is kept too. */
function tellWhy(error: unknown): string {
  if (error instanceof WorkflowError) return error.message;
  throw error;
}

const runDirIn = (experimentDir: string): string => {
  const metrics = readdirSync(experimentDir, { recursive: true }).find(
    (file) => path.basename(String(file)) === 'metrics.jsonl',
  );
  return path.dirname(path.join(experimentDir, String(metrics)));
};

const more: readonly Plant[] = [...morePlants, ...moreHealthy];
const round3: readonly Plant[] = [...plantsOfRound3, ...healthyOfRound3];
const round4: readonly Plant[] = [...plantsOfRound4, ...healthyOfRound4];

function fileOf(plant: Plant): string {
  if (round3.includes(plant)) return 'by-others/round-3.ts';
  if (round4.includes(plant)) return 'by-others/round-4.ts';
  if (healthyOfRound5.includes(plant)) return 'round-5.ts';
  const folder = plant.name.startsWith('by-others.') ? 'by-others/' : '';
  const file = plant.cause === undefined ? 'healthy' : 'plants';
  return `${folder}${more.includes(plant) ? 'more-' : ''}${file}.ts`;
}

const all = [
  ...plants,
  ...healthy,
  ...plantsByOthers,
  ...healthyByOthers,
  ...more,
  ...round3,
  ...round4,
  ...healthyOfRound5,
];
for (const plant of all) {
  const { name, cause, open } = plant;
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'doctor-'));
  const began = performance.now();
  try {
    const ended = await open({ experimentDir }).tune().then(tellSuccess, tellWhy);
    const kind = cause === undefined ? 'healthy' : 'planted';
    const bytes = keepRun(runDirIn(experimentDir), {
      name: `${kind}.${name}`,
      dir: values.out,
      cause: cause ?? null,
      origin: `test/doctor/${fileOf(plant)}, "${name}"`,
    });
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(`${kind}.${name}: ${bytes} bytes, ${seconds} s, ${ended}`);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = 1;
  } finally {
    rmSync(experimentDir, { recursive: true, force: true });
  }
}
