import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { isAtif } from '@agentjet/atif';
import {
  isJsonObject,
  parseJsonObject,
  TaskError,
  toErrorMessage,
  type JsonObject,
  type Task,
  type WorkflowOutput,
} from '@agentjet/core';
import type { JudgeContext } from '@agentjet/rollout';
import { readAtifExamples } from './atif-examples.js';

/** An answer that a person has scored. */
export type LabelledExample = {
  readonly task: Task;
  /** The agent's last message. */
  readonly answer: string;
  /** The output of the workflow. Empty if the line does not give it. */
  readonly output: WorkflowOutput;
  /** The score, on any scale. */
  readonly score: number;
  /** Undefined means that the score decides. */
  readonly isSuccess: boolean | undefined;
  /** What the agents read and answered. If it is missing, it is the question and the answer. */
  readonly transcripts?: JudgeContext['transcripts'];
};

/**
 * Reads a JSONL file. Each line has `main_query` (or `question`), optionally the task's `task_id` and `metadata`, and
 * either `answer` with `score`, `label` or `is_success`, or `ranked`, a list of answers from the best to the worst.
 * `output_metadata` is the metadata that the workflow returned with an answer. Also reads trajectories in ATIF, one in
 * a file or in a line, and all files of a folder. Throws TaskError with file and line.
 */
export function readLabelledExamples(source: string): readonly LabelledExample[] {
  const rows = listFiles(source).flatMap(readRows);
  const [documents, lines] = [rows.filter(({ value }) => isAtif(value)), rows.filter(({ value }) => !isAtif(value))];
  const trajectories = readAtifExamples(documents).flatMap(({ place, row, transcripts }) =>
    readRow(row, place).map((example) => ({ ...example, transcripts })),
  );
  const examples = [...trajectories, ...lines.flatMap(({ value, place }) => readRow(value, place))];
  if (examples.length > 0) return examples;
  throw new TaskError(
    'no_examples',
    `${source} holds no examples. Write a JSON object with main_query, answer and score in each line.`,
  );
}

function listFiles(source: string): readonly string[] {
  if (!(statSync(source, { throwIfNoEntry: false })?.isDirectory() ?? false)) return [source];
  const names = readdirSync(source).filter((name) => /\.jsonl?$/.test(name));
  return names.toSorted().map((name) => path.join(source, name));
}

type PlacedRow = { readonly place: string; readonly value: JsonObject };

function readRows(file: string): readonly PlacedRow[] {
  const text = readFile(file);
  const whole = parseJsonObject(text);
  if (whole !== undefined) return [{ place: isAtif(whole) ? file : `${file}:1`, value: whole }];
  return text.split('\n').flatMap((line, at) => {
    const place = `${file}:${at + 1}`;
    return line.trim() === '' ? [] : [{ place, value: parse(line, place) }];
  });
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new TaskError('missing_file', `The examples cannot be read: ${toErrorMessage(error)}.`, { cause: error });
  }
}

function readRow(row: JsonObject, place: string): readonly LabelledExample[] {
  const task = readTask(row, place);
  const { answer, ranked } = row;
  if (Array.isArray(ranked)) return fromRanking(ranked, task, place);
  if (typeof answer !== 'string') throw bad(place, `"answer" is ${show(answer)}`, 'Write the answer as a string.');
  return [{ task, answer, output: readOutput(row, place), ...readLabel(row, place) }];
}

function parse(line: string, place: string): JsonObject {
  const row = parseJsonObject(line);
  if (row !== undefined) return row;
  throw bad(place, `the line is ${show(line)}`, 'Write a JSON object.');
}

function readTask(
  { task_id: id, main_query: query, question, init_messages: messages, metadata }: JsonObject,
  place: string,
): Task {
  const mainQuery = query ?? question;
  if (typeof mainQuery !== 'string')
    throw bad(place, `"main_query" is ${show(mainQuery)}`, 'Write the question as a string.');
  return {
    taskId: typeof id === 'string' && id !== '' ? id : place,
    mainQuery,
    initMessages: Array.isArray(messages) ? (messages as Task['initMessages']) : [],
    metadata: isJsonObject(metadata) ? metadata : {},
  };
}

function readOutput({ output_metadata: metadata }: JsonObject, place: string): WorkflowOutput {
  if (metadata === undefined) return {};
  if (isJsonObject(metadata)) return { metadata };
  throw bad(
    place,
    `"output_metadata" is ${show(metadata)}`,
    'Write the object that the workflow returns, or leave it out.',
  );
}

function readLabel(
  { score, label = score, is_success: isSuccess }: JsonObject,
  place: string,
): Pick<LabelledExample, 'score' | 'isSuccess'> {
  const known = typeof isSuccess === 'boolean' ? isSuccess : typeof label === 'boolean' ? label : undefined;
  const scored = [label, score].find((given) => typeof given === 'number');
  const value = scored ?? (known === undefined ? undefined : Number(known));
  if (value === undefined || !Number.isFinite(value))
    throw bad(place, `"score" is ${show(label)}`, 'Write a number, or is_success: true or false.');
  return { score: value, isSuccess: known };
}

function fromRanking(ranked: readonly unknown[], task: Task, place: string): readonly LabelledExample[] {
  if (ranked.length < 2 || !ranked.every((answer) => typeof answer === 'string'))
    throw bad(place, '"ranked" is not a list of two or more answers', 'Write the answers as strings, the best first.');
  return ranked.map((answer, at) => ({
    task,
    answer: answer as string,
    output: {},
    score: 1 - at / (ranked.length - 1),
    isSuccess: undefined,
  }));
}

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'missing';

const bad = (place: string, seen: string, repair: string): TaskError =>
  new TaskError('bad_example', `${place}: ${seen}. ${repair}`);
