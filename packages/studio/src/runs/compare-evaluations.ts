import { toRate, type Rate } from '@agentjet/core/success';
import type { EpisodeRow } from '@agentjet/run-folder';
import type { KindChange, TaskChange, TaskTrials } from '../wire.js';

/** The first and the last evaluation, task by task. `isCounted` leaves out the places that are sampled as in training. */
export function compareTasks(
  rows: readonly EpisodeRow[],
  isCounted: (row: EpisodeRow) => boolean,
): readonly TaskChange[] {
  const evaluated = rows.filter((row) => row.phase === 'evaluation' && isCounted(row));
  const steps = [...new Set(evaluated.map(({ step }) => step))].sort((a, b) => a - b);
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined) return [];
  const before = trialsByTask(evaluated.filter(({ step }) => step === first));
  const after =
    last === first ? new Map<string, TaskTrials>() : trialsByTask(evaluated.filter(({ step }) => step === last));
  const kinds = new Map(evaluated.map(({ task_id: task, kind = '' }) => [task, kind]));
  return [...new Set([...before.keys(), ...after.keys()])].map((task) => ({
    task,
    kind: kinds.get(task) ?? '',
    before: before.get(task) ?? null,
    after: after.get(task) ?? null,
  }));
}

/** Names an episode that failed, if there is one, because that is what people want to read. */
function trialsByTask(rows: readonly EpisodeRow[]): Map<string, TaskTrials> {
  const byTask = new Map<string, TaskTrials>();
  for (const row of rows) {
    const { task_id: task, is_scored: isScored, is_success: isSuccess } = row;
    const known = byTask.get(task);
    const successes = (known?.successes ?? 0) + (isScored && isSuccess ? 1 : 0);
    const { episode, ref } =
      known !== undefined && isSuccess ? known : { episode: row.episode_id, ref: `${row.step}.${row.offset}` };
    byTask.set(task, { successes, trials: (known?.trials ?? 0) + (isScored ? 1 : 0), episode, ref });
  }
  return byTask;
}

/** Success by kind of task. Empty if there are fewer than two kinds. */
export function compareKinds(tasks: readonly TaskChange[]): readonly KindChange[] {
  const kinds = [...new Set(tasks.map(({ kind }) => kind))].filter((kind) => kind !== '').sort();
  if (kinds.length < 2) return [];
  return kinds.map((kind) => {
    const own = tasks.filter((task) => task.kind === kind);
    return { kind, tasks: own.length, before: rateOn(own, 'before'), after: rateOn(own, 'after') };
  });
}

const rateOn = (tasks: readonly TaskChange[], side: 'before' | 'after'): Rate | null =>
  toRate(tasks.flatMap((task) => task[side] ?? []));
