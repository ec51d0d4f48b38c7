import { asModel, ReActAgent, Toolkit, type Tool } from '@agentjet/react';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../math-agent/calculator.js';

/** Runs the math agent. Its last result is its answer. The calculator says if a result is not the target. */
export async function play(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const target = String(task.metadata['target']);
  let answer = '';
  const calculator: Tool = {
    name: 'calculator',
    description: calculatorDescription,
    parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
    execute: ({ expression }) => {
      answer = String(expression);
      const value = calculate(answer);
      return value === target ? value : `${value}, not ${target}`;
    },
  };
  const agent = new ReActAgent({
    name: 'solver',
    systemPrompt,
    model: asModel(tuner, { agentName: 'solver' }),
    toolkit: new Toolkit([calculator]),
    maxIterations: maxCalls,
  });
  await agent.reply({ name: 'user', role: 'user', content: task.mainQuery }, { signal: tuner.signal });
  return { metadata: { answer } };
}
