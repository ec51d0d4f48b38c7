import { Agent, type Model, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const calculator = tool({
  name: 'calculator',
  description: calculatorDescription,
  parameters: z.object({ expression: z.string() }),
  execute: ({ expression }) => calculate(expression),
});

const runner = new Runner({ tracingDisabled: true });

/** An agent of the OpenAI Agents SDK. */
export async function solve(question: string, model: Model, signal?: AbortSignal): Promise<string> {
  const agent = new Agent({ name: 'solver', instructions: systemPrompt, model, tools: [calculator] });
  const { finalOutput } = await runner.run(agent, question, {
    maxTurns: maxCalls,
    ...(signal !== undefined && { signal }),
  });
  return finalOutput ?? '';
}
