import type { OptimizerOptions, Task } from '@agentjet/core';
import type { Environment, Judge, WorkflowSource } from '@agentjet/rollout';
import type { LessonPlan } from './lesson-plan.js';
import type { Teacher } from './teacher.js';

/** A tutorial's own workflow on its training split, with a teacher in the place of the model. */
export type Course = {
  readonly name: string;
  readonly workflow: WorkflowSource;
  readonly judge?: Judge;
  readonly environment?: Environment;
  readonly teacher: Teacher;
  /** Never one of the tasks that the tutorial evaluates on. */
  readonly drawTasks: (options: { readonly seed: number; readonly count: number }) => readonly Task[];
  readonly numEpisodes: number;
  /** Of so many more the tokenizer is learned. */
  readonly numSpelled: number;
};

/** Everything that decides what a small model becomes. The same recipe makes the same data. */
export type Recipe = {
  /** Also what `model.path` calls the model. */
  readonly name: string;
  readonly seed: number;
  readonly vocabSize: number;
  readonly contextLength: number;
  /** Of the random weights. */
  readonly initialDeviation: number;
  readonly threads: number;
  /** config.json of transformers. */
  readonly configJson: Readonly<Record<string, unknown>>;
  readonly courses: readonly Course[];
  readonly lessons: readonly LessonPlan[];
  readonly optimizer: OptimizerOptions;
  /** What the model card says: after "A language model of N parameters", and what the teachers are like. */
  readonly card: { readonly purpose: string; readonly teachers: string };
};
