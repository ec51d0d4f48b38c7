import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '@agentjet/core';
import { createLlmJudge, type LlmJudgeOptions } from '@agentjet/judges';
import type { ModelQuestion } from '@agentjet/model-client';
import { parse } from 'yaml';
import { type Consultation, gradeLines } from './draw-consultation.js';

/** The skills that a small model needs to be the judge `llm`: it repeats the code of the question, and it counts. */

type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string };
/** A line of a file for `ajet sft`. The last message is imitated. A served model is shown the form of its answer. */
export type Lesson = { readonly messages: readonly Message[]; readonly response_format?: object };

type Section = { readonly rubric: string; readonly scale: number; readonly max_tokens: number };
type Job = { readonly ajet: { readonly task_judge: { readonly llm: Section } } };

/** Reads the judge's options from the configuration of the doctor's training. */
function readOptions(): LlmJudgeOptions {
  const file = path.join(import.meta.dirname, '../learning_to_ask_llm.yaml');
  const { rubric, scale, max_tokens: maxTokens } = (parse(readFileSync(file, 'utf8')) as Job).ajet.task_judge.llm;
  const how = {
    referenceField: null,
    votes: 1,
    temperature: 0,
    successFrom: 1,
    agent: null,
    onOutage: 'stop',
  } as const;
  return { rubric, scale, maxTokens, outputField: 'answer', ...how };
}

const options = readOptions();
const signal = new AbortController().signal;

/**
 * Makes a lesson of what the judge `llm` asks about a consultation, with the verdict of the rule. Its reason counts the
 * questions of each line.
 */
export async function toVerdictLesson({ task, lines }: Consultation): Promise<Required<Lesson>> {
  const { counts, points } = gradeLines(lines);
  const lessons: Required<Lesson>[] = [];
  const ask = async ({ messages, schema: json_schema = { name: '', schema: {} } }: ModelQuestion) => {
    const [code = ''] = /"code": "\w+"/.exec(messages[0]?.content ?? '') ?? [];
    const content = `{${code}, "reason": "${counts.join(' ')}", "score": ${points}}`;
    const response_format = { type: 'json_schema', json_schema };
    lessons.push({ messages: [...messages, { role: 'assistant', content }], response_format });
    return { text: content, finishReason: 'stop', promptTokens: 0, completionTokens: 0 };
  };
  const context = { episodeId: task.taskId, signal, seed: 1, transcripts: [], environment: null };
  await createLlmJudge({ ask }, options).judge(task, { metadata: { answer: lines.join('\n') } }, context);
  const [lesson] = lessons;
  if (lesson === undefined) throw new Error(`The judge asked nothing about ${task.taskId}.`);
  return lesson;
}

function drawCode(random: Random): string {
  const digits = Array.from({ length: 12 }, () => random.int(16).toString(16));
  return `"code": "${digits.join('')}"`;
}

/** Makes a lesson that repeats a code alone. */
export function drawCopy(random: Random): Lesson {
  const content = `{${drawCode(random)}}`;
  return {
    messages: [
      { role: 'system', content },
      { role: 'assistant', content },
    ],
  };
}

/** Makes a lesson that grades a consultation alone: the verdict has no code. */
export function toGrading({ messages }: Lesson): Lesson {
  const [, , answer, verdict] = messages;
  if (answer === undefined || verdict === undefined) throw new Error('A question has three messages, and a verdict.');
  const content = verdict.content.replace(/"code": "\w+", /, '');
  return { messages: [answer, { ...verdict, content }] };
}

/** Makes a lesson that repeats a code from a longer or shorter part of the question. */
export function drawHiddenCopy({ messages }: Lesson, random: Random): Lesson {
  const [system, task, answer] = messages;
  if (system === undefined || task === undefined || answer === undefined)
    throw new Error('A question has three messages.');
  const code = drawCode(random);
  const request = (system.content.split('\n').at(-1) ?? '').replace(/"code": "\w+"/, code);
  const question = [{ ...system, content: request }, task, answer].slice(0, 1 + random.int(3));
  return { messages: [...question, { role: 'assistant', content: `{${code}}` }] };
}
