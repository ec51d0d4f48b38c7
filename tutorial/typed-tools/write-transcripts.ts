import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { replaceFile } from '@agentjet/core';
import type { Task } from 'agentjet';
import { z } from 'zod';
import { systemPrompt } from './agent.js';
import { descriptions, schemas, type ToolCall, type ToolName } from './shop.js';
import { drawTasks } from './questions.js';

/** `npx tsx tutorial/typed-tools/write-transcripts.ts` writes two transcripts of each of 77 solved questions for `ajet sft`. */

/** Each city, weekday, item and so on is in this many questions, or in all that there are. The model may never write a value that it was not shown. */
const timesShown = 3;

/** Draws questions, and keeps those with a value that was not shown often enough. The model copies quantities, so they do not count. */
export function drawQuestions(): readonly Task[] {
  const shown = new Map<string, number>();
  const countOf = (value: string): number => shown.get(value) ?? 0;
  return drawTasks('training', { seed: 2, count: 300 }).filter(({ metadata }) => {
    const { name, input } = metadata['call'] as ToolCall;
    const values = Object.entries(input)
      .filter(([key]) => key !== 'quantity')
      .map(([key, value]) => `${name} ${key} ${value}`);
    const isNeeded = values.some((value) => countOf(value) < timesShown);
    if (isNeeded) for (const value of values) shown.set(value, countOf(value) + 1);
    return isNeeded;
  });
}

const tools = (Object.keys(schemas) as ToolName[]).map((name) => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: z.toJSONSchema(schemas[name]) },
}));

/** Returns two transcripts. One has the call, and its request has the tools. The other has the answer and no tools. */
export function transcriptsOf({ mainQuery, metadata }: Task): readonly object[] {
  const { name, input } = metadata['call'] as ToolCall;
  const call = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } };
  const asked = [
    { role: 'system', content: systemPrompt },
    { role: 'user', content: mainQuery },
  ];
  const called = { role: 'assistant', content: '', tool_calls: [call] };
  const answered = [
    { role: 'tool', tool_call_id: call.id, content: metadata['answer'] },
    { role: 'assistant', content: metadata['answer'] },
  ];
  return [{ messages: [...asked, called], tools }, { messages: [...asked, { ...called, weight: 0 }, ...answered] }];
}

if (process.argv[1] === import.meta.filename) {
  const folder = path.join(import.meta.dirname, 'data');
  const lines = drawQuestions().flatMap((task) => transcriptsOf(task).map((transcript) => JSON.stringify(transcript)));
  mkdirSync(folder, { recursive: true });
  await replaceFile(path.join(folder, 'transcripts.jsonl'), `${lines.join('\n')}\n`);
  console.log(`${folder}/transcripts.jsonl: ${lines.length} transcripts`);
}
