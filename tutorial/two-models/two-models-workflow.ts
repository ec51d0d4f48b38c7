import { asModel } from '@agentjet/openai';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { calculate } from '../math-agent/calculator.js';
import { createTeam } from './team.js';

/**
 * The planner gets a reward if its computation gives the answer, and the worker if it computes what the planner asked
 * for. An episode succeeds if both are right.
 */
export async function solveTogether(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const team = createTeam((agentName) => asModel(tuner, { agentName }));
  const { expression, answer } = await team(task.mainQuery, tuner.signal);
  const solution = task.metadata['answer'];
  const isPlanned = Number(calculate(expression)) === solution;
  const isComputed = answer.trim() === calculate(expression);
  return {
    rewards: { planner: isPlanned ? 1 : 0, worker: isComputed ? 1 : 0 },
    isSuccess: isPlanned && isComputed,
    metadata: { expression, answer },
  };
}
