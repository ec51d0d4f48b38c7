import { readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Cell } from './cells.js';
import type { Stage } from './cell-result.js';
import { findRunDir, readSuccess } from './read-seed-result.js';
import { readCurve, type CurvePoint } from './sampled-tokens.js';
import { ajet, root, runNode } from './run-node.js';
import { serveWhile } from './serve-while.js';

/** Does the work that comes before the training that a cell measures. */

/** The settings of that training, and what earlier trainings reached on the same held-out tasks. */
export type Prepared = {
  readonly settings: readonly string[];
  readonly stages: readonly Stage[];
  /** The evaluations of the run that made the teacher. */
  readonly teacherCurve?: readonly CurvePoint[];
};

type Place = { readonly seed: number; readonly scratch: string };

export async function prepareCell(cell: Cell, place: Place): Promise<Prepared> {
  if (cell.begins === 'imitation') return imitate(cell, place);
  if (cell.teacher !== undefined) return trainTeacher(cell.teacher, cell, place);
  if (cell.begins === 'first week') return liveFirstWeek(cell, place);
  return { settings: [], stages: [] };
}

/** Runs a command of ajet with the cell's configuration. Resolves to the folder of its run. */
async function runAjet(cell: Cell, command: readonly string[], place: Place & { readonly runs: string }) {
  const { seed, scratch, runs } = place;
  const [name, ...settings] = command;
  const conf = ['--conf', path.join(root, cell.conf), `--backbone=${cell.backbone}`];
  const common = [`experiment_dir=${runs}`, `trainer_common.seed=${seed}`, 'trainer_common.save_freq=0'];
  const args = [
    ...(name === '' || name === undefined ? [] : [name]),
    ...conf,
    ...common,
    ...cell.overrides,
    ...settings,
  ];
  await runNode(scratch, [ajet, ...args], cell.env);
  return findRunDir(runs);
}

/** Moves the last checkpoint to a folder with a fixed name. */
async function takeModel(runDir: string, target: string): Promise<string> {
  const checkpoints = path.join(runDir, 'checkpoints');
  const names = (await readdir(checkpoints)).filter((name) => name.startsWith('step-')).toSorted();
  await rename(path.join(checkpoints, names.at(-1) ?? ''), target);
  return target;
}

/** Returns the share of the held-out tasks that a model solves with the cell's configuration. */
async function evaluate(cell: Cell, { seed, scratch }: Place, model: string): Promise<number> {
  const conf = ['--conf', path.join(root, cell.conf), `--backbone=${cell.backbone}`];
  const settings = [
    `model.path=${model}`,
    `experiment_dir=${path.join(scratch, 'evaluations')}`,
    `trainer_common.seed=${seed}`,
  ];
  const args = [ajet, 'eval', '--json', ...conf, ...cell.overrides, ...settings];
  const { output } = await runNode(scratch, args, cell.env);
  const { success } = JSON.parse(output.trim().split('\n').at(-1) ?? '') as { readonly success: number };
  return success;
}

/** Trains the teacher with rewards. It is evaluated as often as its student. */
async function trainTeacher(conf: string, cell: Cell, place: Place): Promise<Prepared> {
  const runs = path.join(place.scratch, 'teacher');
  const runDir = await runAjet({ ...cell, conf }, ['', 'trainer_common.test_freq=5'], { ...place, runs });
  const [success, teacherCurve] = [await readSuccess(runDir), await readCurve(runDir)];
  const model = await takeModel(runDir, path.join(place.scratch, 'teacher-model'));
  return { settings: [`teacher.model=${model}`], stages: [{ name: 'teacher', ...success }], teacherCurve };
}

/** Makes a model from the cell's model with `ajet sft`. */
async function imitate(cell: Cell, place: Place): Promise<Prepared> {
  const before = await evaluate(cell, place, cell.model);
  const runDir = await runAjet(cell, ['sft'], { ...place, runs: path.join(place.scratch, 'imitation') });
  const model = await takeModel(runDir, path.join(place.scratch, 'imitated'));
  const after = await evaluate(cell, place, model);
  const stage = { name: 'imitation', success_before: before, success_after: after };
  return { settings: [`model.path=${model}`], stages: [stage] };
}

/**
 * People use the cell's model for a week. It is trained on their feedback, and they use the result for another week.
 */
async function liveFirstWeek(cell: Cell, place: Place): Promise<Prepared> {
  const traces = path.join(place.scratch, 'traces');
  const sources = `task_reader.feedback_tracing.sources=[${traces}/*/transcripts.jsonl]`;
  await liveWeek(cell.model, { ...place, traces, week: 1 });
  const runDir = await runAjet(cell, ['', sources], { ...place, runs: path.join(place.scratch, 'first-week') });
  const stage = { name: 'first week', ...(await readSuccess(runDir)) };
  const model = await takeModel(runDir, path.join(place.scratch, 'first'));
  await liveWeek(model, { ...place, traces, week: 2 });
  return { settings: [`model.path=${model}`, sources], stages: [stage] };
}

async function liveWeek(
  model: string,
  week: Place & { readonly traces: string; readonly week: number },
): Promise<void> {
  const { seed, scratch, traces } = week;
  const kept = path.join(traces, `week-${week.week}`);
  const args = [
    ajet,
    'serve',
    model,
    '--no-key',
    '--port',
    '0',
    '--max-tokens',
    '64',
    '--json',
    '--conversations',
    kept,
  ];
  type Address = { readonly base_url: string };
  await serveWhile(args, { cwd: root }, async ({ base_url: url }: Address) => {
    const users = path.join(root, 'tutorial/feedback/users.ts');
    const options = ['--url', url, '--week', String(week.week), '--seed', String(seed)];
    await runNode(scratch, ['--import', 'tsx', users, ...options]);
  });
}
