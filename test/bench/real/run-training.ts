import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import { ajet, readUsage, reporter } from '../../releases/run-node.js';

/**
 * Runs `ajet --conf` in its own process and reads its results: the evaluations, the times and the peak of its memory.
 */

export type Evaluation = {
  readonly step: number;
  readonly success: number;
  readonly reward: number;
  readonly episodes: number;
  readonly seconds: number;
};

export type Training = {
  readonly before: Evaluation;
  readonly after: Evaluation;
  /** Without evaluations. */
  readonly minutes: number;
  readonly minutesInAll: number;
  readonly peakGib: number;
  /** Load averages of the last minute, before the run and after it. */
  readonly load: readonly number[];
  readonly modelSource: unknown;
  readonly rewardByStep: readonly number[];
};

export type TrainingOptions = {
  readonly conf: string;
  readonly overrides?: readonly string[];
  readonly cwd: string;
  readonly report: (line: string) => void;
};

/** `read` gets the folder of the run before it is removed. Rejects with the end of the output if the command fails. */
export async function runTraining<T = undefined>(
  options: TrainingOptions,
  read?: (runDir: string) => T,
): Promise<Training & { readonly found: T | undefined }> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'bench-real-'));
  try {
    const loadBefore = loadavg()[0] ?? 0;
    const { seconds, peakBytes } = await runAjet(options, scratch);
    const runDir = findRun(path.join(scratch, 'runs'));
    const evaluations = readLines(path.join(runDir, 'evaluations.jsonl')).map(toEvaluation);
    const [before, after] = [evaluations[0], evaluations.at(-1)];
    if (before?.step !== 0 || after === undefined || after.step === 0)
      throw new Error(`${options.conf} was not evaluated before and after its training.`);
    const evaluating = evaluations.reduce((sum, each) => sum + each.seconds, 0);
    return {
      before,
      after,
      minutes: inMinutes(seconds - evaluating),
      minutesInAll: inMinutes(seconds),
      peakGib: round(peakBytes / 2 ** 30),
      load: [loadBefore, loadavg()[0] ?? 0].map(round),
      modelSource: readSource(runDir),
      rewardByStep: readLines(path.join(runDir, 'metrics.jsonl')).map((line) => round(Number(line['reward_mean']))),
      found: read?.(runDir),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function runAjet(
  { conf, overrides = [], cwd, report }: TrainingOptions,
  scratch: string,
): Promise<{ readonly seconds: number; readonly peakBytes: number }> {
  const usage = path.join(scratch, 'usage.json');
  const args = [ajet, '--conf', conf, '--json', `experiment_dir=${path.join(scratch, 'runs')}`, ...overrides];
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', reporter, ...args], {
    cwd,
    env: { ...process.env, USAGE_REPORT: usage },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let written = '';
  child.stderr.on('data', (chunk: Buffer) => {
    written = (written + chunk.toString()).slice(-4000);
    for (const line of chunk.toString().split('\n')) if (/^(evaluation|step +\d+\/)/.test(line)) report(`  ${line}`);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`ajet --conf ${conf} ended with ${code}:\n${written}`);
  return { seconds: (performance.now() - startedAt) / 1000, peakBytes: (await readUsage(usage)).peakBytes };
}

function findRun(folder: string): string {
  const [experiment = ''] = readdirSync(folder);
  const [time = ''] = readdirSync(path.join(folder, experiment)).filter((name) => /^\d{4}-/.test(name));
  return path.join(folder, experiment, time);
}

export function readLines(file: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

function toEvaluation(line: Readonly<Record<string, unknown>>): Evaluation {
  const number = (key: string): number => Number(line[key]);
  return {
    step: number('step'),
    success: number('success_rate'),
    reward: number('reward_mean'),
    episodes: number('episodes'),
    seconds: number('seconds'),
  };
}

function readSource(runDir: string): unknown {
  const record: unknown = JSON.parse(readFileSync(path.join(runDir, 'model.json'), 'utf8'));
  return isJsonObject(record) ? record['source'] : undefined;
}

export const round = (value: number): number => Math.round(value * 100) / 100;
const inMinutes = (seconds: number): number => round(seconds / 60);
