import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { KeptRun } from '../../doctor/kept-run.js';

/** rldoctor reads metrics alone. It gets every figure of a run that it knows, under the names of TRL. */

export const rldoctorVersion = '0.2.0';

const venv =
  process.env['AJET_BENCH_RLDOCTOR'] ?? path.join(homedir(), `.cache/ajet-bench/rldoctor-${rldoctorVersion}`);
const python = path.join(venv, 'bin/python');
const installed = path.join(venv, `rldoctor-${rldoctorVersion}.txt`);
const script = path.join(import.meta.dirname, 'rldoctor.py');

/** Installs it into a separate folder. If this fails, it returns the reason. */
export function installRldoctor(report: (line: string) => void): string | undefined {
  if (existsSync(installed)) return undefined;
  report(`installing rldoctor ${rldoctorVersion} into ${venv}`);
  const steps = [
    ['python3', ['-m', 'venv', venv]],
    [python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `rldoctor==${rldoctorVersion}`]],
  ] as const;
  for (const [command, args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 10 * 60_000 });
    if (status !== 0) return `${command} ${args.join(' ')}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
  }
  writeFileSync(installed, '');
  return undefined;
}

function runPython(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(python, [script, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`rldoctor failed: ${stderr}`);
  return stdout;
}

/** Writes `<scenario>.<steps>.<seed>.jsonl` for its twelve scenarios, 100 and 400 steps, and seeds 0 to 9. */
export function writeScenarios(folder: string): void {
  mkdirSync(folder, { recursive: true });
  runPython(['scenarios', folder]);
}

/** The names of its warnings and critical findings for each file, the most severe first. */
export const diagnoseWithRldoctor = (files: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  JSON.parse(runPython(['diagnose', ...files])) as Record<string, string[]>;

/** The names of our causes that each of its detectors covers. */
const covered: Readonly<Record<string, readonly string[]>> = {
  advantage_collapse: ['never_solved', 'always_solved', 'no_spread', 'judge_undecided', 'temperature_too_low'],
  entropy_collapse: ['lost_variety', 'collapsed'],
  reward_hacking: ['hollow_reward', 'too_few_tasks'],
  length_pathology: ['length_drift', 'cut_answers'],
  clip_saturation: ['clipped_away'],
  kl_drift: ['kl_drift'],
  gradient_pathology: ['gradient_spikes', 'zero_gradients'],
  reward_composition: ['one_part'],
  plateau: ['stopped_learning', 'no_gain', 'rate_too_low'],
};

export const covers = (detector: string | undefined, cause: string): boolean =>
  detector !== undefined && (covered[detector] ?? []).includes(cause);

type Row = Readonly<Record<string, number>>;

/** The records of a run as lines that rldoctor reads. */
export function toTrlLines({ files }: KeptRun): string {
  const rows = (name: string): readonly Row[] =>
    (files[name] ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Row);
  const evaluated = new Map(rows('evaluations.jsonl').map((row) => [row['step'], row['success_rate']]));
  const lines = rows('metrics.jsonl').map((row) => ({ ...toTrl(row), ...scoreOf(evaluated.get(row['step'])) }));
  const start = { step: 0, ...scoreOf(evaluated.get(0)) };
  return [start, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const scoreOf = (score: number | undefined): Row => (score === undefined ? {} : { 'eval/accuracy': score });

function toTrl(row: Row): Row {
  const quotient = (part: string, whole: string): number | undefined =>
    row[whole] === undefined || row[whole] === 0 ? undefined : (row[part] ?? 0) / row[whole];
  const isTrained = row['trained_tokens'] !== 0;
  const values: Readonly<Record<string, number | undefined>> = {
    step: row['step'],
    reward: row['reward_mean'],
    frac_reward_zero_std: quotient('groups_skipped', 'groups'),
    entropy: isTrained ? row['entropy'] : undefined,
    kl: isTrained ? row['kl'] : undefined,
    'clip_ratio/region_mean': isTrained ? row['clip_fraction'] : undefined,
    grad_norm: row['grad_norm'],
    learning_rate: row['learning_rate'],
    'completions/mean_length': quotient('generated_tokens', 'episodes'),
    'completions/clipped_ratio': quotient('answers_cut', 'answers'),
    ...Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) =>
        name.startsWith('judge/') ? [[`rewards/${name.slice(6)}/mean`, value]] : [],
      ),
    ),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Row;
}
