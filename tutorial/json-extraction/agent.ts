import { generateText, type LanguageModel, type ModelMessage } from 'ai';

/** A program on the AI SDK that reads orders out of messages. It has no code for training. */

const system = 'Read the order. Answer with JSON alone: the name, the city, the item and the count as a number.';

const examples: readonly ModelMessage[] = [
  { role: 'user', content: 'Nadia in Madrid wants five plates, please.' },
  { role: 'assistant', content: '{"name": "Nadia", "city": "Madrid", "item": "plates", "count": 5}' },
  { role: 'user', content: 'Can I get 14 candles sent to Porto? Thanks, Oscar' },
  { role: 'assistant', content: '{"name": "Oscar", "city": "Porto", "item": "candles", "count": 14}' },
];

/** Returns the order as the model wrote it, or undefined if its answer is not JSON. */
export async function readOrder(message: string, model: LanguageModel, signal?: AbortSignal): Promise<unknown> {
  const { text } = await generateText({
    model,
    system,
    messages: [...examples, { role: 'user', content: message }],
    ...(signal !== undefined && { abortSignal: signal }),
  });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
