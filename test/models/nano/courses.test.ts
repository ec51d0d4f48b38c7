import { createChatTokenizer } from '@agentjet/tokenizer';
import { describe, expect, it } from 'vitest';
import { lakeTasks } from '#tutorial/frozen-lake/lake-tasks.js';
import { drawTasks as drawMathTasks } from '#tutorial/math-agent/generate-data.js';
import { villageTasks } from '#tutorial/werewolves/village-tasks.js';
import { deriveSeed, type Task } from '@agentjet/core';
import { courses } from './courses.js';
import { recipe } from './nano-recipe.js';
import { recordTranscripts } from '../shared/record-transcripts.js';
import { createTokenizerConfig, createTokenizerJson } from '../shared/tokenizer-files.js';

/** Returns what makes two tasks with different ids the same problem. */
function problemOf({ mainQuery, metadata }: Task): string {
  return JSON.stringify(metadata['map'] ?? metadata['cast'] ?? mainQuery);
}

async function collect(tasks: AsyncIterable<Task> | Iterable<Task>): Promise<Set<string>> {
  const problems = new Set<string>();
  for await (const task of tasks) problems.add(problemOf(task));
  return problems;
}

function readEvaluation(course: string): Promise<Set<string>> {
  if (course === 'frozen-lake') return collect(lakeTasks.evaluationTasks());
  return collect(
    course === 'werewolves' ? villageTasks.evaluationTasks() : drawMathTasks('validation', { seed: 1, count: 100 }),
  );
}

describe.each(courses)('the transcripts of $name', (course) => {
  it('never show a task that the tutorial evaluates on', async () => {
    const evaluated = await readEvaluation(course.name);
    expect(evaluated.size).toBeGreaterThanOrEqual(100);
    const shown = course
      .drawTasks({ seed: deriveSeed(recipe.seed, course.name), count: course.numEpisodes })
      .map(problemOf);
    expect(shown.filter((problem) => evaluated.has(problem))).toEqual([]);
  });

  it('come from the workflow itself, and are the same for the same seed', async () => {
    const chatTokenizer = createChatTokenizer({
      tokenizerJson: createTokenizerJson([]),
      tokenizerConfig: createTokenizerConfig(8192),
    });
    const record = () =>
      recordTranscripts({ ...course, numEpisodes: 6 }, { chatTokenizer, contextLength: 8192, seed: 3 });
    const first = await record();
    expect(await record()).toEqual(first);
    for (const { ids, lossMask } of first.samples) {
      const answers = chatTokenizer.tokenizer.decode(ids.filter((_, index) => lossMask[index] === 1));
      expect(answers.endsWith('<|im_end|>')).toBe(true);
    }
  });
});
