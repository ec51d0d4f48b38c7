import { asModel } from '@agentjet/google';
import { solve } from '../agents/google.js';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/** Runs the agent on one problem. It returns no reward: the judge in the YAML file scores the answer. */
export async function solveProblem(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'solver' });
  return { metadata: { answer: await solve(task.mainQuery, model, tuner.signal) } };
}
