import { asModel } from '@agentjet/openai';
import { solve } from './agent.js';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/** Runs the agent on one problem. It returns no reward: the judge in the YAML file compares the number. */
export async function solveProblem(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const client = asModel(tuner, { agentName: 'solver' });
  return { metadata: { answer: await solve(task.mainQuery, client, tuner.signal) } };
}
