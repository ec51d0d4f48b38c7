import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Task } from 'agentjet';
import { z } from 'zod';
import { systemPrompt } from './agent.js';
import { descriptions, schemas, type ToolCall, type ToolName } from './shop.js';
import { drawTasks } from './questions.js';

/** `npx tsx tutorial/typed-tools/write-transcripts.ts` writes two transcripts of each of 36 solved questions for `ajet sft`. */

const numQuestions = 36;

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
  const lines = drawTasks('training', { seed: 2, count: numQuestions }).flatMap((task) =>
    transcriptsOf(task).map((transcript) => JSON.stringify(transcript)),
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'transcripts.jsonl'), `${lines.join('\n')}\n`);
  console.log(`${folder}/transcripts.jsonl: ${lines.length} transcripts`);
}
