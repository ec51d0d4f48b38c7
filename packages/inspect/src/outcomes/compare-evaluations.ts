import { BackboneError } from '@agentjet/core';
import { pairedDifference, rateOf, type Rate, type RateDifference } from '@agentjet/core/success';
import type { EpisodeRow } from '@agentjet/run-folder';
import type { OutcomeReader } from './read-outcomes.js';

/** How a task did in the first and in the last evaluation: `successes` of its `trials` episodes succeeded. */
export type ComparedTask = {
  readonly taskId: string;
  readonly kind?: string;
  /** How the share of successes changed, and whether a task whose share did not change is solved. */
  readonly change: 'gained' | 'lost' | 'solved' | 'not_solved';
  readonly before: TaskSide;
  readonly after: TaskSide;
};

type TaskSide = {
  readonly successes: number;
  readonly trials: number;
  /** The first episode without success, or the first one. It shows what the task is about. */
  readonly episode: EpisodeRow;
};

export type ComparedEvaluations = {
  readonly firstStep: number;
  readonly lastStep: number;
  /** Over the tasks that both evaluations have scored. */
  readonly difference: RateDifference;
  readonly before: Rate;
  readonly after: Rate;
  readonly tasks: readonly ComparedTask[];
  /** Tasks that only one of the evaluations has scored. */
  readonly leftOut: number;
};

/** Compares the first and the last evaluation of a run by task. Throws BackboneError `no_evaluations`. */
export async function compareEvaluations(reader: OutcomeReader, runDir: string): Promise<ComparedEvaluations> {
  const steps = (await reader.readEvaluations()).map(({ step }) => step).toSorted((one, other) => one - other);
  const [firstStep] = steps;
  const lastStep = steps.at(-1);
  if (firstStep === undefined || lastStep === undefined || firstStep === lastStep)
    throw new BackboneError(
      'no_evaluations',
      `The run ${runDir} has ${steps.length === 0 ? 'no evaluation' : `only the evaluation of step ${firstStep}`}, and two are compared. ` +
        'Let a run evaluate before training (trainer_common.val_before_train) and after it, on the tasks of task_reader.',
    );
  const [before, after] = [await scoresOf(reader, firstStep), await scoresOf(reader, lastStep)];
  const tasks = [...after].flatMap(([taskId, later]) => {
    const earlier = before.get(taskId);
    return earlier === undefined ? [] : [toCompared(taskId, earlier, later)];
  });
  return {
    firstStep,
    lastStep,
    difference: pairedDifference(
      tasks.map((task) => task.before),
      tasks.map((task) => task.after),
    ),
    before: rateOf(tasks.map((task) => task.before)),
    after: rateOf(tasks.map((task) => task.after)),
    tasks,
    leftOut: new Set([...before.keys(), ...after.keys()]).size - tasks.length,
  };
}

function toCompared(taskId: string, before: TaskSide, after: TaskSide): ComparedTask {
  const { kind } = after.episode;
  return { taskId, ...(kind !== undefined && { kind }), change: changeOf(before, after), before, after };
}

function changeOf(before: TaskSide, after: TaskSide): ComparedTask['change'] {
  const difference = after.successes / after.trials - before.successes / before.trials;
  if (difference !== 0) return difference > 0 ? 'gained' : 'lost';
  return after.successes === after.trials ? 'solved' : 'not_solved';
}

/** Returns the tasks that were scored. */
async function scoresOf({ index }: OutcomeReader, step: number): Promise<ReadonlyMap<string, TaskSide>> {
  const sides = scoreTasks(await index.rowsOf(step), index.keys.valPassN);
  return new Map([...sides].filter(([, { trials }]) => trials > 0));
}

/**
 * Counts the successes and trials of each task in an evaluation. Episodes that the evaluation sampled with the settings
 * of training are left out. A task without a scored episode has no trials.
 */
export function scoreTasks(rows: readonly EpisodeRow[], numPlain: number): ReadonlyMap<string, TaskSide> {
  const sides = new Map<string, TaskSide>();
  for (const row of rows) {
    if (row.phase !== 'evaluation' || row.repeat_index >= numPlain) continue;
    const { successes = 0, trials = 0, episode = row } = sides.get(row.task_id) ?? {};
    sides.set(row.task_id, {
      successes: successes + (row.is_scored && row.is_success ? 1 : 0),
      trials: trials + (row.is_scored ? 1 : 0),
      episode: episode.is_success && !row.is_success ? row : episode,
    });
  }
  return sides;
}
