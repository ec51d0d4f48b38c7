import { asModel } from '@agentjet/langgraph';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { solve } from './agent.js';

/** The agent on one problem. It returns no reward: the judge named in the YAML scores the answer. */
export async function mathWorkflow(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const answer = await solve(task.mainQuery, asModel(tuner, { agentName: 'solver' }), tuner.signal);
  return { metadata: { answer } };
}
