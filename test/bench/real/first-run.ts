import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { BenchOptions, Measured } from '../bench.js';
import { ajet, root } from '../../releases/run-node.js';
import { runCommand } from '../first-hour/run-command.js';
import { runTraining } from './run-training.js';
import { detailsOf } from './tutorials.js';

/**
 * The path of a new user, with no flag but the name of the model: `ajet model get`, `ajet init --model`, then the training
 * that `init` proposes. The project is in the repository, so it finds the packages of this commit.
 */
export async function measureFirstRun({ report }: Pick<BenchOptions, 'report'>): Promise<Measured> {
  mkdirSync(path.join(root, 'saved_experiments'), { recursive: true });
  const project = mkdtempSync(path.join(root, 'saved_experiments/first-run-'));
  try {
    for (const command of ['model get smollm2-135m', 'init --model smollm2-135m'])
      await runCommand(`${JSON.stringify(process.execPath)} ${JSON.stringify(ajet)} ${command}`, { cwd: project });
    const training = await runTraining({ conf: 'agent.yaml', cwd: project, report });
    const { before, after, minutes, minutesInAll, peakGib } = training;
    const figures = { minutes, minutes_in_all: minutesInAll, peak_gib: peakGib };
    const summary = { before: before.success, after: after.success, ...figures };
    return { summary: { first_run: summary, first_command_refused: false }, details: detailsOf(training) };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const summary = { first_run: null, first_command_refused: true };
    return { summary, details: { refusal: error instanceof Error ? error.message : String(error) } };
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

/**
 * Returns whether a run was refused before it began, because it needs more memory than the machine has. Only that
 * refusal names this setting.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.includes('model.memory_check=warn');
}
