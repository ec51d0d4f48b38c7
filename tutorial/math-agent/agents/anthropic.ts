import type { Anthropic } from '@anthropic-ai/sdk';
import { calculate, calculatorDescription, maxCalls, systemPrompt } from '../calculator.js';

const tools: Anthropic.Tool[] = [
  {
    name: 'calculator',
    description: calculatorDescription,
    input_schema: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
  },
];

/** Runs a loop over the plain SDK. */
export async function solve(question: string, client: Anthropic, signal?: AbortSignal): Promise<string> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }];
  for (let numCalls = 0; numCalls < maxCalls; numCalls++) {
    const { content } = await client.messages.create(
      { model: 'claude-haiku-4-5', max_tokens: 200, system: systemPrompt, messages, tools },
      signal === undefined ? {} : { signal },
    );
    messages.push({ role: 'assistant', content });
    const results = content.flatMap((block): Anthropic.ToolResultBlockParam[] =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result', tool_use_id: block.id, content: calculate(readExpression(block.input)) }]
        : [],
    );
    if (results.length === 0) return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    messages.push({ role: 'user', content: results });
  }
  return '';
}

function readExpression(input: unknown): string {
  return typeof input === 'object' && input !== null && 'expression' in input
    ? String(input.expression)
    : JSON.stringify(input); // the calculator reports that it cannot read it
}
