import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task } from 'agentjet';
import { createProblem } from './problems.js';

/**
 * `npx tsx generate-data.ts` writes data/training.jsonl and data/validation.jsonl. The text of a question decides its
 * split, one in eight for validation. The two files therefore share no question, and no other draw can mix them.
 */
export type Split = 'training' | 'validation';

export function splitOf(question: string): Split {
  return deriveSeed(0, 'math', question) % 8 === 0 ? 'validation' : 'training';
}

/** Returns tasks with different problems of one split. The same seed gives the same tasks. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, split));
  const answers = new Map<string, number>();
  while (answers.size < count) {
    const { question, answer } = createProblem(random);
    if (splitOf(question) === split) answers.set(question, answer);
  }
  return [...answers].map(([question, answer], index) => ({
    taskId: `${split}-${index}`,
    mainQuery: question,
    initMessages: [],
    metadata: { answer },
  }));
}

/** Returns the lines of one data file. */
export function toJsonl(split: Split): string {
  const tasks = drawTasks(split, { seed: 1, count: split === 'training' ? 1024 : 100 });
  return tasks
    .map(
      ({ taskId, mainQuery, metadata }) => `${JSON.stringify({ task_id: taskId, main_query: mainQuery, metadata })}\n`,
    )
    .join('');
}

if (process.argv[1] === import.meta.filename) {
  for (const split of ['training', 'validation'] as const) {
    writeFileSync(path.join(import.meta.dirname, 'data', `${split}.jsonl`), toJsonl(split));
  }
}
