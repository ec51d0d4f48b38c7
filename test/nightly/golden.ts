import { cpus } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { inKeysOf, readBaseline, readGolden } from '../golden-runs/golden-files.js';
import { keptNames } from '../golden-runs/read-kept.js';
import { runTutorial, tutorials, type Tutorial } from '../golden-runs/tutorials.js';
import type { NightlyOutcome } from './nightly-job.js';
import { runLongTests } from './vitest-outcome.js';

async function differencesOf(tutorial: Tutorial): Promise<readonly string[]> {
  const golden = readGolden(tutorial.name);
  const kept = await runTutorial(tutorial);
  return keptNames.flatMap((file) => {
    const rows = inKeysOf(golden[file], kept[file] ?? []);
    const at = golden[file].findIndex((row, index) => !isDeepStrictEqual(row, rows[index]));
    if (at < 0 && rows.length === golden[file].length) return [];
    return [`${tutorial.name}: ${file}, row ${at < 0 ? golden[file].length : at} is another one`];
  });
}

/** Makes the golden runs, including those with a kill, and 20 steps of three tutorials. */
export async function run(): Promise<NightlyOutcome> {
  const matrix = runLongTests(['test/golden-runs', 'test/e2e/several-policies-killed.test.ts']);
  const { commit, processor } = readBaseline();
  const own = cpus()[0]?.model.trim();
  if (own !== processor) {
    const why = `; tutorials were kept on ${processor}, and this is ${own}, so their last digits cannot be compared`;
    return { ...matrix, summary: matrix.summary + why };
  }
  const differences: string[] = [];
  for (const tutorial of tutorials) differences.push(...(await differencesOf(tutorial)));
  const tutorialsSay = differences.length === 0 ? 'tutorials are equal' : differences.join('; ');
  return {
    passed: matrix.passed && differences.length === 0,
    summary: `${matrix.summary}; ${tutorialsSay} to ${commit}`,
    details: { ...matrix.details, baseline: commit, differences },
  };
}
