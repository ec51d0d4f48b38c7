import type { OpenAI } from 'openai';
import { calculate } from '../math-agent/calculator.js';

/**
 * An ordinary agent without any code for training. Its model cannot call tools, so it asks for calculations in plain
 * text.
 */

const systemPrompt =
  'You solve word problems with a calculator. First write CALC and an expression of two numbers. When you see the RESULT, write ANSWER and the number.';

/** Solved problems, one of each operation. Without them the model never follows the protocol. */
export const solvedProblems = [
  ['A train has 14 cars and gets 6 more. How many cars does it have?', '14 + 6'],
  ['A cook cuts 24 carrots into 3 equal piles. How many carrots are in a pile?', '24 / 3'],
  ['A box holds 4 rows of 7 tiles. How many tiles are in the box?', '4 * 7'],
  ['A tree had 31 leaves and 8 fell. How many leaves does it still have?', '31 - 8'],
] as const;

const exampleTurns: readonly OpenAI.ChatCompletionMessageParam[] = solvedProblems.flatMap(([question, expression]) => [
  { role: 'user', content: question },
  { role: 'assistant', content: `CALC ${expression}` },
  { role: 'user', content: `RESULT ${calculate(expression)}` },
  { role: 'assistant', content: `ANSWER ${calculate(expression)}` },
]);

/** The agent gives up after this many calls of its model. */
export const maxCalls = 3;

/** Returns the answer of the agent, or an empty string if it gives none. */
export async function solve(question: string, client: OpenAI, signal?: AbortSignal): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: systemPrompt },
    ...exampleTurns,
    { role: 'user', content: question },
  ];
  for (let numCalls = 0; numCalls < maxCalls; numCalls++) {
    const { choices } = await client.chat.completions.create(
      { model: 'gpt-4o-mini', messages },
      signal === undefined ? {} : { signal },
    );
    const content = choices[0]?.message.content ?? '';
    const expression = /^CALC (.+)$/m.exec(content)?.[1];
    if (expression === undefined) return /^ANSWER (.+)$/m.exec(content)?.[1] ?? '';
    messages.push({ role: 'assistant', content }, { role: 'user', content: `RESULT ${calculate(expression)}` });
  }
  return '';
}
