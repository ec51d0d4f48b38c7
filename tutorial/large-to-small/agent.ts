import type { OpenAI } from 'openai';

const systemPrompt = 'Work out each problem with compute. Close with the words: The result is N.';
/** The agent gives up after this many model calls. */
const maxCalls = 4;

const operations = {
  add: (a: number, b: number) => a + b,
  subtract: (a: number, b: number) => a - b,
  multiply: (a: number, b: number) => a * b,
  divide: (a: number, b: number) => a / b,
} as const;
type OperationName = keyof typeof operations;

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'compute',
      parameters: {
        type: 'object',
        properties: {
          operation: { enum: Object.keys(operations) },
          a: { type: 'number' },
          b: { type: 'number' },
        },
        required: ['operation', 'a', 'b'],
      },
    },
  },
];

function compute(written: string): string {
  try {
    const { operation, a, b } = JSON.parse(written) as Record<string, unknown>;
    if (!Object.hasOwn(operations, String(operation))) return `there is no operation "${String(operation)}"`;
    return String(Math.round(operations[operation as OperationName](Number(a), Number(b)) * 100) / 100);
  } catch {
    return 'the arguments are not JSON';
  }
}

/** An agent over the plain SDK. It has no code for training. */
export async function solve(question: string, client: OpenAI, signal?: AbortSignal): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: question },
  ];
  for (let numCalls = 0; numCalls < maxCalls; numCalls++) {
    const request = { model: 'gpt-4o-mini', messages, tools };
    const { choices } = await client.chat.completions.create(request, signal === undefined ? {} : { signal });
    const message = choices[0]?.message;
    if (message === undefined) break;
    messages.push(message);
    const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
    if (calls.length === 0) return /The result is (-?[\d.]+)\.$/.exec(message.content ?? '')?.[1] ?? '';
    for (const call of calls)
      messages.push({ role: 'tool', tool_call_id: call.id, content: compute(call.function.arguments) });
  }
  return '';
}
