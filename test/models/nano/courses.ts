import type { WorkflowSource } from '@agentjet/rollout';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks as drawLakeTasks } from '#tutorial/frozen-lake/lake-tasks.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { drawTasks as drawMathTasks } from '#tutorial/math-agent/generate-data.js';
import { solveProblem as solveWithAiSdk } from '#tutorial/math-agent/workflows/ai-sdk.js';
import { solveProblem as solveWithLangGraph } from '#tutorial/math-agent/workflows/langgraph.js';
import { solveProblem as solveWithOpenAI } from '#tutorial/math-agent/workflows/openai.js';
import { solveProblem as solveWithOpenAIAgents } from '#tutorial/math-agent/workflows/openai-agents.js';
import { solveProblem as solveWithReact } from '#tutorial/math-agent/workflows/react.js';
import { drawTasks as drawVillageTasks } from '#tutorial/werewolves/village-tasks.js';
import { WerewolvesWorkflow } from '#tutorial/werewolves/werewolves-workflow.js';
import type { Course } from '../shared/recipe.js';
import { lakeTeacher } from './teachers/lake-teacher.js';
import { mathTeacher } from './teachers/math-teacher.js';
import { villageTeacher } from './teachers/village-teacher.js';

/**
 * The same workflow in each framework. Frameworks describe a tool in different words, and the model has to understand
 * all of them.
 */
const mathWorkflows: Readonly<Record<string, WorkflowSource>> = {
  langgraph: solveWithLangGraph,
  react: solveWithReact,
  openai: solveWithOpenAI,
  'ai-sdk': solveWithAiSdk,
  'openai-agents': solveWithOpenAIAgents,
};

const mathCourses: readonly Course[] = Object.entries(mathWorkflows).map(([framework, workflow]) => ({
  name: `math-agent, ${framework}`,
  workflow,
  judge: new AnswerJudge(),
  teacher: mathTeacher,
  drawTasks: (options) => drawMathTasks('training', options),
  numEpisodes: 1000,
  numSpelled: 150,
}));

export const courses: readonly Course[] = [
  {
    name: 'frozen-lake',
    workflow: FrozenLakeWorkflow,
    teacher: lakeTeacher,
    drawTasks: (options) => drawLakeTasks('training', options),
    numEpisodes: 4000,
    numSpelled: 200,
  },
  ...mathCourses,
  {
    name: 'werewolves',
    workflow: WerewolvesWorkflow,
    teacher: villageTeacher,
    drawTasks: (options) => drawVillageTasks('training', options),
    numEpisodes: 750,
    numSpelled: 100,
  },
];
