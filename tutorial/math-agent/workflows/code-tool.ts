import { asModel } from '@agentjet/react';
import { calculator, solve } from '../agents/react.js';
import { runCode } from '../code-tool.js';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';

/**
 * The ReAct agent with a calculator that runs code in a sandbox. The prompt describes it as the same tool, because nano
 * has learned no other words. The prompt of a larger model should say that it may write programs.
 */
export async function solveProblem(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const model = asModel(tuner, { agentName: 'solver' });
  const tool = {
    ...calculator,
    execute: ({ expression }) => runCode(String(expression), tuner.signal),
  } satisfies typeof calculator;
  return { metadata: { answer: await solve(task.mainQuery, model, tuner.signal, tool) } };
}
