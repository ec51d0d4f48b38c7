import type { ChatModel } from '@agentjet/core';
import { ReActAgent, type Tool, Toolkit } from '@agentjet/react';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

export const calculator: Tool = {
  name: 'calculator',
  description: calculatorDescription,
  parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
  execute: ({ expression }) => calculate(String(expression)),
};

/** The ReAct agent of @agentjet/react. */
export async function solve(
  question: string,
  model: ChatModel,
  signal?: AbortSignal,
  tool: Tool = calculator,
): Promise<string> {
  const agent = new ReActAgent({
    name: 'solver',
    systemPrompt,
    model,
    toolkit: new Toolkit([tool]),
    maxIterations: maxCalls,
  });
  const { content } = await agent.reply(
    { name: 'user', role: 'user', content: question },
    signal === undefined ? {} : { signal },
  );
  return content;
}
