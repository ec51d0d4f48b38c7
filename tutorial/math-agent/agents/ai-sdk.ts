import { generateText, type LanguageModel, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const calculator = tool({
  description: calculatorDescription,
  inputSchema: z.object({ expression: z.string() }),
  execute: ({ expression }) => calculate(expression),
});

/** The Vercel AI SDK's own loop over steps. */
export async function solve(question: string, model: LanguageModel, signal?: AbortSignal): Promise<string> {
  const { text } = await generateText({
    model,
    system: systemPrompt,
    prompt: question,
    tools: { calculator },
    stopWhen: stepCountIs(maxCalls),
    maxRetries: 0,
    ...(signal !== undefined && { abortSignal: signal }),
  });
  return text;
}
