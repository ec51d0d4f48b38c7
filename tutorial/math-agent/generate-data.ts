import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom, deriveSeed } from '@agentjet/core';
import type { Task } from 'agentjet';
import { createProblem } from './problems.js';

/**
 * `npx tsx generate-data.ts` writes data/training.jsonl and data/validation.jsonl. The text of a question decides its split, one in
 * eight for validation. So the two files share no question, and no other draw can mix them.
 */
export type Split = 'training' | 'validation';

export function splitOf(question: string): Split {
  return deriveSeed(0, 'math', question) % 8 === 0 ? 'validation' : 'training';
}

/** Tasks with different problems of one split, and the same ones for the same seed. */
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

/** Lines of one data file. */
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
