import type { OpenAI } from 'openai';
import type { Call, FunctionDoc } from './check-call.js';

/** An agent that answers a question with one call of the functions that it was given, or with a sentence if none fits. */

export const systemPrompt =
  'Answer with one call of a function. If no function fits the question, say so in one sentence and call none.';
export const refusal = 'No function fits this question.';

/**
 * Two answered questions that come before each question: one that no function fits, and one with a call. Without them
 * the model that is trained here never writes a call.
 */
export const exampleTurns: readonly OpenAI.ChatCompletionMessageParam[] = [
  { role: 'user', content: 'Who wrote Hamlet?' },
  { role: 'assistant', content: refusal },
  { role: 'user', content: 'How warm is it in Rome in celsius?' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [
      {
        id: 'example',
        type: 'function',
        function: { name: 'get_weather', arguments: '{"city": "Rome", "unit": "celsius"}' },
      },
    ],
  },
];

/** BFCL names some types as Python does. */
const jsonTypes: Readonly<Record<string, string>> = {
  dict: 'object',
  float: 'number',
  tuple: 'array',
  any: 'string',
};

function toJsonSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJsonSchema);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => [
      key,
      key === 'type' && typeof each === 'string' ? (jsonTypes[each] ?? each) : toJsonSchema(each),
    ]),
  );
}

export function toTools(functions: readonly FunctionDoc[]): OpenAI.ChatCompletionTool[] {
  return functions.map((doc) => ({
    type: 'function',
    function: { ...doc, parameters: toJsonSchema(doc.parameters) as Record<string, unknown> },
  }));
}

/** Returns the calls of the answer; none if the model answers in words. */
export async function choose(
  question: string,
  functions: readonly FunctionDoc[],
  { client, signal }: { readonly client: OpenAI; readonly signal?: AbortSignal },
): Promise<readonly Call[]> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: systemPrompt },
    ...exampleTurns,
    { role: 'user', content: question },
  ];
  const { choices } = await client.chat.completions.create(
    { model: 'gpt-4o-mini', messages, tools: toTools(functions) },
    signal === undefined ? {} : { signal },
  );
  const calls = choices[0]?.message.tool_calls ?? [];
  return calls.flatMap((call) => (call.type === 'function' ? [call.function] : []));
}
