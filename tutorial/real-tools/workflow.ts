import { asModel } from '@agentjet/langgraph';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { solve } from './agent.js';

/** One episode: the agent solves one problem. The judge in the YAML file scores the answer. */
export async function solveProblem(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'solver' });
  return { metadata: { answer: await solve(task.mainQuery, model, tuner.signal) } };
}
