import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../../.ci/workspaces.mjs';
import { listRuns } from '../e2e/support/read-run.js';
import { runAjet } from '../e2e/support/run-ajet.js';
import { readKept, type Kept } from './read-kept.js';

export type Tutorial = { readonly name: string; readonly folder: string; readonly file: string };

/** The tutorials of the golden runs. Their last digits depend on the processor. repeats.json has the details. */
export const tutorials: readonly Tutorial[] = [
  { name: 'tutorial-1', folder: 'frozen-lake', file: 'frozen_lake.yaml' },
  { name: 'tutorial-2', folder: 'math-agent', file: 'math_agent.yaml' },
  { name: 'tutorial-3', folder: 'werewolves', file: 'werewolves.yaml' },
];

/** Finds the configuration of a tutorial. At the baseline commit, the names of the folders begin with numbers. */
function findConfiguration({ folder, file }: Tutorial): string {
  const dir = path.join(root, 'tutorial');
  const found = readdirSync(dir).find((name) => name.replace(/^\d+-/, '') === folder);
  if (found === undefined) throw new Error(`${dir} has no tutorial "${folder}".`);
  return path.join(dir, found, file);
}

const timeoutMs = 20 * 60_000;

/**
 * Makes 20 steps with two threads, as the golden files have them. Episodes are not kept, because they are long, and the
 * figures depend on them anyway.
 */
export async function runTutorial(tutorial: Tutorial): Promise<Partial<Kept>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'golden-'));
  try {
    const changes = {
      experiment_dir: path.join(folder, 'saved_experiments'),
      experiment_name: 'e2e',
      'trainer_common.seed': 42,
      'trainer_common.total_training_steps': 20,
      'onnx.num_threads': 2,
    };
    const overrides = Object.entries(changes).map(([key, value]) => `${key}=${value}`);
    const { code, stderr } = await runAjet(folder, ['--conf', findConfiguration(tutorial), ...overrides], {
      timeoutMs,
    });
    const [run] = listRuns(folder);
    if (code !== 0 || run === undefined) throw new Error(`${tutorial.name} ended with ${code}.\n${stderr}`);
    const { metrics, evaluations, checkpoints } = readKept(run);
    return { metrics, evaluations, checkpoints: checkpoints.slice(-1) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
