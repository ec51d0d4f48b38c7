import { pairedDifference, type RateDifference, type TaskScore } from '@agentjet/core/success';
import type { EvaluationPoint, RunOverview, TaskChange, TaskTrials } from '../wire.js';

/** The maximum number of runs that are compared. */
export const maxCompared = 20;

export type PairedChange = RateDifference & { readonly tasks: number };

/** A compared run: its first and last evaluation, and its difference from run A. */
export type ComparedRun = {
  /** A, B, C, ... */
  readonly letter: string;
  readonly overview: RunOverview;
  readonly first: EvaluationPoint | null;
  readonly last: EvaluationPoint | null;
  /** The change from its first to its last evaluation, over the tasks of both. Null if it was evaluated once. */
  readonly change: PairedChange | null;
  /** Its last evaluation minus that of run A, over the tasks of both. Null for A, and if they share no task. */
  readonly against: PairedChange | null;
};

export function compareRuns(overviews: readonly RunOverview[]): readonly ComparedRun[] {
  const [base] = overviews;
  const ofBase = lastScores(base?.tasks ?? []);
  return overviews.map((overview, at) => {
    const { evaluations, tasks } = overview;
    return {
      letter: letterOf(at),
      overview,
      first: evaluations[0] ?? null,
      last: evaluations.at(-1) ?? null,
      change: pair(sideScores(tasks, 'before'), sideScores(tasks, 'after')),
      against: at === 0 ? null : pair(ofBase, lastScores(tasks)),
    };
  });
}

export const letterOf = (at: number): string => String.fromCodePoint(65 + at);

type Scores = ReadonlyMap<string, TaskScore>;

const lastTrials = ({ before, after }: TaskChange): TaskTrials | null => after ?? before;

const lastScores = (tasks: readonly TaskChange[]): Scores => scoresBy(tasks, lastTrials);

const sideScores = (tasks: readonly TaskChange[], side: 'before' | 'after'): Scores =>
  scoresBy(tasks, (task) => task[side]);

function scoresBy(tasks: readonly TaskChange[], trialsOf: (task: TaskChange) => TaskTrials | null): Scores {
  const scored = tasks.flatMap((task) => {
    const trials = trialsOf(task);
    return trials === null || trials.trials === 0 ? [] : [[task.task, trials] as const];
  });
  return new Map(scored);
}

function pair(before: Scores, after: Scores): PairedChange | null {
  const shared = [...before.keys()].filter((task) => after.has(task));
  if (shared.length === 0) return null;
  const of = (scores: Scores) => shared.flatMap((task) => scores.get(task) ?? []);
  return { ...pairedDifference(of(before), of(after)), tasks: shared.length };
}

/** Returns whether the interval of a change excludes 0. */
export const isBeyondNoise = ({ low, high }: RateDifference): boolean => low > 0 || high < 0;

/** A task that some runs solve more often than others in their last evaluations. `rates` has the rate of each run. */
export type TaskApart = { readonly task: string; readonly rates: readonly (number | null)[] };

/** Returns the tasks on which any two runs differ, the largest difference first, and the number of shared tasks. */
export function findTasksApart(overviews: readonly RunOverview[]): {
  readonly apart: readonly TaskApart[];
  readonly shared: number;
} {
  const scores = overviews.map(({ tasks }) => lastScores(tasks));
  const tasks = [...new Set(scores.flatMap((each) => [...each.keys()]))].map((task) => ({
    task,
    rates: scores.map((each) => {
      const score = each.get(task);
      return score === undefined ? null : score.successes / score.trials;
    }),
  }));
  const shared = tasks.filter(({ rates }) => rates.filter((rate) => rate !== null).length > 1);
  const apart = shared.filter(({ rates }) => spreadOf(rates) > 0);
  return { apart: apart.toSorted((a, b) => spreadOf(b.rates) - spreadOf(a.rates)), shared: shared.length };
}

function spreadOf(rates: readonly (number | null)[]): number {
  const known = rates.filter((rate) => rate !== null);
  return Math.max(...known) - Math.min(...known);
}

/** Returns the settings in which the runs differ, with the value of each run. */
export function findSettingsApart(
  overviews: readonly RunOverview[],
): readonly { readonly name: string; readonly values: readonly (string | undefined)[] }[] {
  const names = [...new Set(overviews.flatMap(({ settings }) => Object.keys(settings)))];
  return names
    .map((name) => ({ name, values: overviews.map(({ settings }) => settings[name]) }))
    .filter(({ values }) => new Set(values).size > 1);
}
