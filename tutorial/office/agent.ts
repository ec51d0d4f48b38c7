import type { OpenAI } from 'openai';

/** The agent gives up after this many pieces of code. */
const maxPieces = 5;

/** Runs a piece of code and describes the result. */
export type RunCode = (code: string) => Promise<{ readonly text: string; readonly isDone: boolean }>;

export type Job = { readonly systemPrompt: string; readonly text: string; readonly run: RunCode };

/** An agent that acts by writing code, over the plain SDK. It has no code for training. */
export async function work({ systemPrompt, text, run }: Job, client: OpenAI, signal?: AbortSignal): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: text },
  ];
  for (let piece = 0; piece < maxPieces; piece++) {
    const request = { model: 'gpt-4o-mini', messages };
    const { choices } = await client.chat.completions.create(request, signal === undefined ? {} : { signal });
    const message = choices[0]?.message;
    if (message === undefined) return;
    const { text: shown, isDone } = await run(readCode(message.content ?? ''));
    if (isDone) return;
    messages.push(message, { role: 'user', content: shown });
  }
}

/** Returns the code of an answer: its first block, or the whole answer. */
export function readCode(answer: string): string {
  return (/```\w*\n([\s\S]*?)```/.exec(answer)?.[1] ?? answer).trim();
}
