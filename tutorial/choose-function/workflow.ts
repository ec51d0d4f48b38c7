import { asModel } from '@agentjet/openai';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { choose } from './agent.js';
import { isRightCall } from './check-call.js';
import type { ChoiceTask } from './functions.js';

/** One episode: one question. Success is the right call, or no call if no function fits. */
export async function chooseFunction(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const { functions, gold, kind } = task.metadata as ChoiceTask;
  const client = asModel(tuner, { agentName: 'chooser' });
  const calls = await choose(task.mainQuery, functions, { client, ...(tuner.signal && { signal: tuner.signal }) });
  const [call, ...others] = calls;
  const isSuccess =
    gold === null
      ? call === undefined
      : call !== undefined && others.length === 0 && isRightCall(call, functions, gold);
  return {
    reward: isSuccess ? 1 : 0,
    isSuccess,
    metadata: { kind, calls },
    logMetrics: { [kind]: isSuccess ? 1 : 0 },
  };
}
