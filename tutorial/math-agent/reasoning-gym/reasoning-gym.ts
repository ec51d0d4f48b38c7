import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { deriveSeed, type JsonObject } from '@agentjet/core';
import { ConfigError, type Task, type TaskReader } from 'agentjet';

/**
 * Tasks of reasoning-gym, which has over a hundred families, from a Python process. `REASONING_GYM_PYTHON` names a Python that has it;
 * default: python3.
 */

/** A family and its settings, with reasoning-gym's names. */
export type Family = { readonly name: string; readonly settings: JsonObject };

type Row = { readonly question: string; readonly answer: string; readonly metadata: JsonObject };

/**
 * The text of a question decides its side, so the same question is always on the same side. One in eight is for
 * evaluation.
 */
export function isForEvaluation(question: string): boolean {
  return deriveSeed(0, 'reasoning-gym', question.trim()) % 8 === 0;
}

/**
 * Writes `5 + 3` as `5+3`, because a sign after a space is another token than the one that micro writes into its
 * calculator.
 */
const withTightSigns = (question: string): string => question.replace(/ ([+-]) /g, '$1');

async function* readRows(family: Family, size: number): AsyncGenerator<Row> {
  const python = process.env['REASONING_GYM_PYTHON'] ?? 'python3';
  const args = [
    path.join(import.meta.dirname, 'families.py'),
    family.name,
    String(size),
    JSON.stringify(family.settings),
  ];
  const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close').catch(() => [null]);
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Row;
  const [code] = (await ended) as readonly (number | null)[];
  if (code !== 0)
    throw new ConfigError(
      'missing_package',
      `${python} made no tasks of ${family.name}. Run: pip install reasoning-gym==0.1.25, or name another Python in REASONING_GYM_PYTHON.`,
    );
}

async function readTasks(families: readonly Family[], size: number): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  for (const family of families) {
    let at = 0;
    for await (const { question, answer } of readRows(family, size))
      tasks.push({
        taskId: `${family.name}-${at++}`,
        mainQuery: withTightSigns(question),
        initMessages: [],
        metadata: { family: family.name, answer: Number(answer) },
      });
  }
  return tasks;
}

/**
 * Returns tasks of these families, `size` of each. One in eight is for evaluation. To use other families, name them
 * here.
 */
export function readFamilies(families: readonly Family[], size: number): TaskReader {
  let reading: Promise<readonly Task[]> | undefined;
  const side = async function* (isEvaluation: boolean): AsyncGenerator<Task> {
    reading ??= readTasks(families, size);
    for (const task of await reading) if (isForEvaluation(task.mainQuery) === isEvaluation) yield task;
  };
  return { trainingTasks: () => side(false), evaluationTasks: () => side(true) };
}

/** reasoning_gym.yaml names this reader. */
export const twoFamilies = readFamilies(
  [
    { name: 'leg_counting', settings: { min_animals: 2, max_animals: 2 } },
    { name: 'chain_sum', settings: { min_terms: 2, max_terms: 2, min_digits: 1, max_digits: 2 } },
  ],
  600,
);
