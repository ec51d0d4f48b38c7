import path from 'node:path';
import { replaceFile } from '@agentjet/core';
import { exampleTurns, refusal, systemPrompt, toTools } from './agent.js';
import { dataDir } from './fetch-bfcl.js';
import type { Task } from 'agentjet';
import { type ChoiceTask, tasksOf } from './functions.js';

/**
 * `npx tsx tutorial/choose-function/write-transcripts.ts` writes the gold calls of half of the functions as transcripts
 * for `ajet sft`: once as tool calls, which get the tags of the model's chat template, and once as bare JSON, for a model
 * that was never trained on its tags.
 */

/** Takes the first accepted value of each argument, and leaves out what may be left out. */
export function goldAnswer(gold: string): { readonly name: string; readonly arguments: string } {
  const [call] = Object.entries(JSON.parse(gold) as Readonly<Record<string, object>>);
  const [name, accepted] = call ?? ['', {}];
  const written = Object.entries(accepted).flatMap(([parameter, values]) => {
    const [first] = values as readonly unknown[];
    return first === '' || (values as readonly unknown[]).includes('') ? [] : [[parameter, withoutChoices(first)]];
  });
  return { name, arguments: JSON.stringify(Object.fromEntries(written)) };
}

/** Records in gold calls list the accepted values of each key. */
function withoutChoices(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutChoices);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, values]: [string, unknown]) => [key, Array.isArray(values) ? values[0] : values]),
  );
}

/** The example turns are shown but not imitated. */
const examples = exampleTurns.map((turn) => (turn.role === 'assistant' ? { ...turn, weight: 0 } : turn));

export type CallForm = 'tool call' | 'bare JSON';

export function transcriptOf(
  { taskId, mainQuery, metadata }: Task & { readonly metadata: ChoiceTask },
  form: CallForm = 'tool call',
): object {
  const { functions, gold } = metadata;
  const answer = gold === null ? { role: 'assistant', content: refusal } : answerInForm(goldAnswer(gold), form);
  const asked = [{ role: 'system', content: systemPrompt }, ...examples, { role: 'user', content: mainQuery }];
  return { task_id: taskId, messages: [...asked, answer], tools: toTools(functions) };
}

type Answer = ReturnType<typeof goldAnswer>;

function answerInForm(call: Answer, form: CallForm): object {
  if (form === 'tool call')
    return { role: 'assistant', content: '', tool_calls: [{ id: 'call_1', type: 'function', function: call }] };
  const { name, arguments: written } = call;
  return { role: 'assistant', content: `{"name": ${JSON.stringify(name)}, "arguments": ${spaced(written)}}` };
}

/** Spells JSON as Python does, with a space after each colon and comma outside of strings. */
function spaced(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|([:,])/g, (_all, text?: string, mark?: string) => text ?? `${mark} `);
}

if (process.argv[1] === import.meta.filename) {
  const forms = { 'tool call': 'transcripts.jsonl', 'bare JSON': 'transcripts-bare.jsonl' } as const;
  for (const form of ['tool call', 'bare JSON'] as const) {
    const lines = tasksOf('imitation').map((task) => JSON.stringify(transcriptOf(task, form)));
    const file = path.join(dataDir, forms[form]);
    await replaceFile(file, `${lines.join('\n')}\n`);
    console.log(`${file}: ${lines.length} transcripts`);
  }
}
