import { asModel } from '@agentjet/openai';
import { solve } from './agent.js';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/** The agent on one problem. It returns no reward: the judge that the YAML names compares the number. */
export async function solveProblem(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const client = asModel(tuner, { agentName: 'solver' });
  return { metadata: { answer: await solve(task.mainQuery, client, tuner.signal) } };
}
