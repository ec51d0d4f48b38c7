import { findLoss, toRate, type Rate, type SuccessLoss } from '@agentjet/core/success';
import { scoreTasks } from '@agentjet/inspect';
import type { EpisodeRow } from '@agentjet/run-folder';
import type { EvaluationPoint, KindChange, TaskChange, TaskTrials } from '../wire.js';

/** Compares the first and the last evaluation by task. Leaves out places from `numPlain` on, sampled as in training. */
export function compareTasks(rows: readonly EpisodeRow[], numPlain: number): readonly TaskChange[] {
  const evaluated = rows.filter((row) => row.phase === 'evaluation' && row.repeat_index < numPlain);
  const steps = [...new Set(evaluated.map(({ step }) => step))].sort((a, b) => a - b);
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined) return [];
  const trialsAt = (step: number | undefined): ReadonlyMap<string, TaskTrials> =>
    trialsByTask(
      evaluated.filter((row) => row.step === step),
      numPlain,
    );
  const before = trialsAt(first);
  const after = trialsAt(last === first ? undefined : last);
  const kinds = new Map(evaluated.map(({ task_id: task, kind = '' }) => [task, kind]));
  return [...new Set([...before.keys(), ...after.keys()])].map((task) => ({
    task,
    kind: kinds.get(task) ?? '',
    before: before.get(task) ?? null,
    after: after.get(task) ?? null,
  }));
}

/** What the run lost since its best evaluation, as the doctor decides it. */
export function compareWithBest(
  evaluations: readonly EvaluationPoint[],
  rows: readonly EpisodeRow[],
  numPlain: number,
): SuccessLoss<EvaluationPoint> | null {
  const scoresAt = (step: number) =>
    scoreTasks(
      rows.filter((row) => row.phase === 'evaluation' && row.step === step && row.repeat_index < numPlain),
      numPlain,
    );
  return findLoss(evaluations, scoresAt) ?? null;
}

function trialsByTask(rows: readonly EpisodeRow[], numPlain: number): ReadonlyMap<string, TaskTrials> {
  const sides = [...scoreTasks(rows, numPlain)].map(([task, { successes, trials, episode }]) => {
    const { episode_id: id, step, offset } = episode;
    return [task, { successes, trials, episode: id, ref: `${step}.${offset}` }] as const;
  });
  return new Map(sides);
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
