import type { OptimizerOptions, Task } from '@agentjet/core';
import type { Environment, Judge, WorkflowSource } from '@agentjet/rollout';
import type { LessonPlan } from './lesson-plan.js';
import type { Teacher } from './teacher.js';

/** A tutorial's own workflow on its training split. A teacher answers instead of the model. */
export type Course = {
  readonly name: string;
  readonly workflow: WorkflowSource;
  readonly judge?: Judge;
  readonly environment?: Environment;
  readonly teacher: Teacher;
  /** Draws tasks that the tutorial does not evaluate on. */
  readonly drawTasks: (options: { readonly seed: number; readonly count: number }) => readonly Task[];
  readonly numEpisodes: number;
  /** The number of additional tasks from which the tokenizer is learned. */
  readonly numSpelled: number;
};

/** Everything that a small model depends on. The same recipe makes the same data. */
export type Recipe = {
  /** The model's name, also in `model.path`. */
  readonly name: string;
  readonly seed: number;
  readonly vocabSize: number;
  readonly contextLength: number;
  /** The standard deviation of the random weights. */
  readonly initialDeviation: number;
  readonly threads: number;
  /** The config.json of transformers. */
  readonly configJson: Readonly<Record<string, unknown>>;
  readonly courses: readonly Course[];
  readonly lessons: readonly LessonPlan[];
  readonly optimizer: OptimizerOptions;
  /** Text for the model card: what follows "A language model of N parameters", and what describes the teachers. */
  readonly card: { readonly purpose: string; readonly teachers: string };
};
