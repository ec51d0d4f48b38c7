import type { OpenAI } from 'openai';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const parameters = { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] };
export const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'calculator', description: calculatorDescription, parameters } },
];

export function readExpression(written: string): string {
  try {
    const { expression }: { expression?: unknown } = JSON.parse(written);
    return String(expression);
  } catch {
    return written; // the calculator will report that it cannot read it
  }
}

/** A loop over the plain SDK. */
export async function solve(question: string, client: OpenAI, signal?: AbortSignal): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: question },
  ];
  for (let numCalls = 0; numCalls < maxCalls; numCalls++) {
    const { choices } = await client.chat.completions.create(
      { model: 'gpt-4o-mini', messages, tools },
      signal === undefined ? {} : { signal },
    );
    const message = choices[0]?.message;
    if (message === undefined) break;
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    if (calls.length === 0) return message.content ?? '';
    for (const call of calls)
      messages.push({
        role: 'tool',
        tool_call_id: call.id,
        content: calculate(readExpression(call.function.arguments)),
      });
  }
  return '';
}
