import { isDeepStrictEqual } from 'node:util';
import { asModel } from '@agentjet/ai-sdk';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { answerQuestion } from './agent.js';

/**
 * One episode: one question. Success is the right tool, called once with the right arguments, and its result as answer.
 * The right call with another answer gets half of the reward.
 */
export async function answerCustomer(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'clerk' });
  const { calls, answer } = await answerQuestion(task.mainQuery, model, tuner.signal);
  const isRightCall = isDeepStrictEqual(calls, [task.metadata['call']]);
  const isSuccess = isRightCall && answer === task.metadata['answer'];
  return {
    reward: isSuccess ? 1 : isRightCall ? 0.5 : 0,
    isSuccess,
    metadata: { calls, answer },
    logMetrics: { right_call: Number(isRightCall) },
  };
}
