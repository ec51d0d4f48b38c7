import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toJsonLines, writeJob, type JobYaml } from '../e2e/support/job-files.js';
import { onlyRun } from '../e2e/support/read-run.js';
import { runAjet, type Finished } from '../e2e/support/run-ajet.js';
import { writeTinyModel } from '../e2e/support/tiny-model.js';
import type { GoldenCase } from './cases.js';
import { readKept, type Kept } from './read-kept.js';

const common = {
  backbone: 'backbone.ts->golden',
  data: { train_batch_size: 3 },
  rollout: { user_workflow: 'agent.ts->spell' },
  trainer_common: { total_training_steps: 5, save_freq: 2, test_freq: 2, optim: { lr: 0.05 } },
} as const;

function settingsOf({ changes }: GoldenCase): JobYaml {
  const { backbone, ...sections } = common;
  const names = [...new Set([...Object.keys(sections), ...Object.keys(changes)])];
  const merge = (name: string): object => ({ ...(Reflect.get(sections, name) as object), ...changes[name] });
  return { backbone, ...Object.fromEntries(names.map((name) => [name, merge(name)])) };
}

function readJobFile(name: string): string {
  return readFileSync(path.join(import.meta.dirname, 'job', name), 'utf8');
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'golden-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const train = ['--conf', 'job.yaml'];

/**
 * Runs the case to its end, and returns the results in its run folder. With `dieAt`, the process is killed at this
 * point, and the run is resumed.
 */
export function runCase(golden: GoldenCase, dieAt?: string): Promise<Kept> {
  return inFolder(async (folder) => {
    const files = { 'agent.ts': readJobFile('agent.ts'), 'backbone.ts': readJobFile('backbone.ts') };
    const modelDir = await writeTinyModel(path.join(folder, 'model'));
    writeJob(folder, modelDir, { ...files, 'train.jsonl': toJsonLines(golden.tasks) }, settingsOf(golden));
    await runToItsEnd(folder, golden, dieAt);
    return readKept(onlyRun(folder));
  });
}

async function runToItsEnd(folder: string, golden: GoldenCase, dieAt: string | undefined): Promise<void> {
  const begin = (env: NodeJS.ProcessEnv = {}): Promise<Finished> => runAjet(folder, train, { env });
  const resume = (env: NodeJS.ProcessEnv = {}): Promise<Finished> =>
    runAjet(folder, [...train, '--resume'], { env: { GOLDEN_RESUMED: '1', ...env } });
  if (dieAt !== undefined) requireEnd(await begin({ GOLDEN_DIE_AT: dieAt }), 'SIGKILL');
  const finished = await (dieAt === undefined ? begin() : resume());
  requireEnd(finished, golden.failsWith === undefined ? 0 : 1, golden.failsWith);
  if (golden.failsWith !== undefined) requireEnd(await resume({ GOLDEN_HEALED: '1' }), 0);
}

function requireEnd({ code, signal, stdout, stderr }: Finished, end: number | 'SIGKILL', says = ''): void {
  const ended = code ?? signal;
  if (ended === end && stderr.includes(says)) return;
  throw new Error(`The process ended with ${ended}; ${end} was expected, with "${says}".\n${stdout}\n${stderr}`);
}
