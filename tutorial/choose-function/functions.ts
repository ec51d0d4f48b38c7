import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, deriveSeed } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import type { FunctionDoc } from './check-call.js';
import { dataDir } from './fetch-bfcl.js';

/**
 * The tasks: a question, one function or several, and the accepted call. The name of the right function decides the
 * split, so an evaluation uses no function that was trained. Questions without a fitting function are split by their
 * first function. A question that shows a function of the evaluation next to the right one is not trained.
 */

type Row = {
  readonly id: string;
  readonly question: readonly (readonly { readonly role: string; readonly content: string }[])[];
  readonly function: readonly FunctionDoc[];
};
type Answer = { readonly id: string; readonly ground_truth: readonly unknown[] };

export const kinds = ['simple', 'multiple', 'irrelevance'] as const;
export type Kind = (typeof kinds)[number];

/** What a task has in its metadata. `gold` is the text of the gold call, or null if no function fits. */
export type ChoiceTask = {
  readonly kind: Kind;
  readonly functions: readonly FunctionDoc[];
  readonly gold: string | null;
};

export type Split = 'imitation' | 'training' | 'evaluation';

/** Half of the functions are imitated, a quarter is trained with rewards, and a quarter is held out. */
export function splitOf(functionName: string): Split {
  const part = deriveSeed(0, 'functions', functionName) % 4;
  return part < 2 ? 'imitation' : part === 2 ? 'training' : 'evaluation';
}

function readRows(file: string): readonly { readonly row: unknown; readonly text: string }[] {
  const full = path.join(dataDir, file);
  if (!existsSync(full))
    throw new ConfigError(
      'missing_file',
      `${full} is not there. Get the data first: npx tsx tutorial/choose-function/fetch-bfcl.ts`,
    );
  const lines = readFileSync(full, 'utf8').split('\n').filter(Boolean);
  return lines.map((text) => ({ row: JSON.parse(text) as unknown, text }));
}

/** Returns the text of the only gold call by task id. As text, 3.0 differs from 3. */
function readGold(kind: Kind): ReadonlyMap<string, string> {
  if (kind === 'irrelevance') return new Map();
  const rows = readRows(`${kind}-answers.jsonl`);
  return new Map(
    rows.map(({ row, text }) => {
      const [, gold = ''] = /"ground_truth": \[(.*)\]\}$/.exec(text) ?? [];
      return [(row as Answer).id, gold] as const;
    }),
  );
}

type FunctionTask = Task & { readonly metadata: ChoiceTask };

export function readTasks(): readonly FunctionTask[] {
  return kinds.flatMap((kind) => {
    const gold = readGold(kind);
    return readRows(`${kind}.jsonl`).map(({ row }) => {
      const { id, question, function: functions } = row as Row;
      const metadata = { kind, functions, gold: gold.get(id) ?? null };
      return { taskId: id, mainQuery: question[0]?.[0]?.content ?? '', initMessages: [], metadata };
    });
  });
}

export function nameOfTask({ gold, functions }: ChoiceTask): string {
  return gold === null ? (functions[0]?.name ?? '') : (Object.keys(JSON.parse(gold) as object)[0] ?? '');
}

/** Returns the tasks of a split. */
export function tasksOf(split: Split, tasks: readonly FunctionTask[] = readTasks()): readonly FunctionTask[] {
  const heldOut = new Set(
    tasks.map(({ metadata }) => nameOfTask(metadata)).filter((name) => splitOf(name) === 'evaluation'),
  );
  const showsHeldOut = ({ functions }: ChoiceTask): boolean => functions.some(({ name }) => heldOut.has(name));
  return tasks.filter(
    ({ metadata }) => splitOf(nameOfTask(metadata)) === split && (split === 'evaluation' || !showsHeldOut(metadata)),
  );
}

/** choose_function.yaml names this reader. */
export const functionTasks: TaskReader = {
  async *trainingTasks() {
    yield* tasksOf('training');
  },
  async *evaluationTasks() {
    yield* tasksOf('evaluation');
  },
};
