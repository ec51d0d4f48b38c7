import type { Task } from '@agentjet/core';
import type { Judge, WorkflowSource } from '@agentjet/rollout';
import { FrozenLakeWorkflow } from '../../../tutorial/01-frozen-lake/frozen-lake-workflow.js';
import { drawTasks as drawLakeTasks } from '../../../tutorial/01-frozen-lake/lake-tasks.js';
import { AnswerJudge } from '../../../tutorial/02-math-agent/answer-judge.js';
import { drawTasks as drawMathTasks } from '../../../tutorial/02-math-agent/generate-data.js';
import { mathWorkflow } from '../../../tutorial/02-math-agent/math-workflow.js';
import { drawTasks as drawVillageTasks } from '../../../tutorial/03-werewolves/village-tasks.js';
import { WerewolvesWorkflow } from '../../../tutorial/03-werewolves/werewolves-workflow.js';
import { lakeTeacher } from './teachers/lake-teacher.js';
import { mathTeacher } from './teachers/math-teacher.js';
import type { Teacher } from './teachers/teacher.js';
import { villageTeacher } from './teachers/village-teacher.js';

/** A tutorial's own workflow on its training split, with a teacher in the place of the model. */
export type Course = {
  readonly name: string;
  readonly workflow: WorkflowSource;
  readonly judge?: Judge;
  readonly teacher: Teacher;
  /** Never one of the tasks that the tutorial evaluates on. */
  readonly drawTasks: (options: { readonly seed: number; readonly count: number }) => readonly Task[];
  readonly numEpisodes: number;
};

export const courses: readonly Course[] = [
  { name: 'frozen-lake', workflow: FrozenLakeWorkflow, teacher: lakeTeacher, drawTasks: (options) => drawLakeTasks('training', options), numEpisodes: 6000 },
  { name: 'math-agent', workflow: mathWorkflow, judge: new AnswerJudge(), teacher: mathTeacher, drawTasks: (options) => drawMathTasks('training', options), numEpisodes: 12_000 },
  { name: 'werewolves', workflow: WerewolvesWorkflow, teacher: villageTeacher, drawTasks: (options) => drawVillageTasks('training', options), numEpisodes: 2000 },
];
