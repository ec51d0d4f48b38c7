import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Cell, TeacherOfCell } from './cells/cell.js';
import type { Stage } from './cell-result.js';
import { findRunDir, readModelSource, readSuccess } from './read-seed-result.js';
import { readCurve, type Rewarded } from './sampled-tokens.js';
import { ajet, lastLine, root, runNode, runScript } from './run-node.js';
import { serveWhile } from './serve-while.js';

/** Does the work that comes before the training that a cell measures. */

/** The settings of that training, and what earlier trainings reached on the same held-out tasks. */
export type Prepared = {
  readonly settings: readonly string[];
  readonly stages: readonly Stage[];
  /** Present if the cell learns from a teacher. */
  readonly rewarded?: Rewarded;
};

type Place = { readonly seed: number; readonly scratch: string };

export async function prepareCell(cell: Cell, place: Place): Promise<Prepared> {
  for (const script of cell.scripts ?? []) await runScript(place.scratch, script);
  if (cell.begins === 'imitation') return imitate(cell, place);
  if (cell.teacher !== undefined) return trainTeacher(cell, { ...place, teacher: cell.teacher });
  if (cell.begins === 'first week') return liveFirstWeek(cell, place);
  return { settings: [], stages: [] };
}

/** Runs a command of ajet with the cell's configuration. Resolves to the folder of its run. */
async function runAjet(cell: Cell, command: readonly string[], place: Place & { readonly runs: string }) {
  const { seed, scratch, runs } = place;
  const [name, ...settings] = command;
  const conf = ['--conf', path.join(root, cell.conf), `backbone=${cell.backbone}`];
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

/**
 * Moves the last checkpoint to a folder with a fixed name. The state of the optimizer, which is several times as large
 * as the model, is removed.
 */
async function takeModel(runDir: string, target: string): Promise<string> {
  const checkpoints = path.join(runDir, 'checkpoints');
  const names = (await readdir(checkpoints)).filter((name) => name.startsWith('step-')).toSorted();
  await rename(path.join(checkpoints, names.at(-1) ?? ''), target);
  await rm(path.join(target, 'trainer_state'), { recursive: true, force: true });
  return target;
}

type Evaluated = {
  readonly success: number;
  readonly success_by_kind?: { readonly [kind: string]: { readonly success: number } };
};

/** Returns the share of the held-out tasks that a model solves with the cell's configuration. */
async function evaluate(cell: Cell, { seed, scratch }: Place, model: string): Promise<Evaluated> {
  const conf = ['--conf', path.join(root, cell.conf), `backbone=${cell.backbone}`];
  const settings = [
    `model.path=${model}`,
    `experiment_dir=${path.join(scratch, 'evaluations')}`,
    `trainer_common.seed=${seed}`,
  ];
  const args = [ajet, 'eval', '--json', ...conf, ...cell.overrides, ...settings];
  const { output } = await runNode(scratch, args, cell.env);
  return JSON.parse(lastLine(output)) as Evaluated;
}

function kindsOf(field: 'kinds_before' | 'kinds_after', { success_by_kind: byKind }: Evaluated): Partial<Stage> {
  if (byKind === undefined) return {};
  return { [field]: Object.fromEntries(Object.entries(byKind).map(([kind, { success }]) => [kind, success])) };
}

type Teaching = Place & { readonly teacher: TeacherOfCell };

/** Trains with the rewards of the teacher's configuration, evaluated every five steps. Resolves to the folder of the run. */
async function trainWithRewards(
  cell: Cell,
  { seed, scratch, teacher }: Teaching,
  { name, settings }: { readonly name: string; readonly settings: readonly string[] },
): Promise<string> {
  const own = path.join(scratch, name);
  await mkdir(own);
  const place = { seed, scratch: own, runs: path.join(own, 'runs') };
  return runAjet({ ...cell, conf: teacher.conf }, ['', 'trainer_common.test_freq=5', ...settings], place);
}

/** Trains the teacher with rewards. If it is not made from the student's model, the student is trained too, at the same time. */
async function trainTeacher(cell: Cell, teaching: Teaching): Promise<Prepared> {
  const { model, overrides = [], studentOverrides = [] } = teaching.teacher;
  const own = model === undefined ? [] : [`model.path=${model}`];
  const runs = [
    trainWithRewards(cell, teaching, { name: 'teacher', settings: [...own, ...overrides] }),
    ...(model === undefined ? [] : [trainWithRewards(cell, teaching, { name: 'rewards', settings: studentOverrides })]),
  ];
  await Promise.allSettled(runs); // if one fails, the other one must not train on without us
  const [runDir = '', studentDir] = await Promise.all(runs);
  const source = model === undefined ? {} : await readModelSource(runDir);
  const success = await readSuccess(runDir);
  const stages: Stage[] = [{ name: 'teacher', ...source, ...success }];
  if (studentDir !== undefined) stages.push({ name: 'rewards', ...(await readSuccess(studentDir)) });
  const taught = await takeModel(runDir, path.join(teaching.scratch, 'teacher-model'));
  return {
    settings: [`teacher.model=${taught}`],
    stages,
    rewarded: { fromRewards: await readCurve(studentDir ?? runDir), teacher: success.success_after ?? 0 },
  };
}

/** Makes a model from the cell's model with `ajet sft`. */
async function imitate(cell: Cell, place: Place): Promise<Prepared> {
  const before = await evaluate(cell, place, cell.model);
  const unmeasured = 'rollout.user_workflow=null'; // ajet sft would measure success, too
  const runDir = await runAjet(cell, ['sft', unmeasured], { ...place, runs: path.join(place.scratch, 'imitation') });
  const model = await takeModel(runDir, path.join(place.scratch, 'imitated'));
  const after = await evaluate(cell, place, model);
  const stage = {
    name: 'imitation',
    success_before: before.success,
    success_after: after.success,
    ...kindsOf('kinds_before', before),
    ...kindsOf('kinds_after', after),
  };
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
    const options = ['--url', url, '--week', String(week.week), '--seed', String(seed)];
    await runScript(scratch, 'tutorial/feedback/users.ts', options);
  });
}
