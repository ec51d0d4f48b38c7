import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { microModelDir } from '@agentjet/micro';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createOnnxBackbone } from '@agentjet/trainer';
import { describe, expect, it } from 'vitest';
import { patientTasks } from '#tutorial/learning-to-ask/patients.js';
import { jobTasks } from '#tutorial/office/jobs.js';
import { documentedPlaces, nameOf } from '#tutorial/documents/write-documents.js';
import { deriveSeed, type Task } from '@agentjet/core';
import { recordTranscripts } from '../shared/record-transcripts.js';
import { measureLoss } from '../shared/train-lessons.js';
import { courses } from './courses.js';
import { micro } from './micro.js';
import { otherPages } from './other-documents.js';
import sums from './sums.json' with { type: 'json' };

/**
 * The highest allowed loss of each course, in nats per answer token. Most of the loss is the teachers' own randomness.
 */
const highestLosses: Readonly<Record<string, number>> = {
  'learning-to-ask': 0.6,
  office: 0.25,
  documents: 0.25,
  'reasoning-gym': 0.25,
};

it('is small enough to come along', () => {
  const sizes = readdirSync(microModelDir).map((file) => statSync(path.join(microModelDir, file)).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8 * 2 ** 20);
});

it('has the tokenizer of its recipe', () => {
  const tokenizer = readFileSync(path.join(microModelDir, 'tokenizer.json'));
  expect(createHash('sha256').update(tokenizer).digest('hex')).toBe(sums.tokenizer);
});

it('answers transcripts that it has not seen as the teachers do', async () => {
  const chatTokenizer = await loadChatTokenizer(microModelDir);
  expect(chatTokenizer.tokenizer.vocabSize).toBe(micro.vocabSize);
  const backbone = await createOnnxBackbone({ modelDir: microModelDir, train: false, isInThread: true });
  try {
    for (const course of courses) {
      const { samples } = await recordTranscripts(
        { ...course, numEpisodes: 6 },
        { chatTokenizer, contextLength: micro.contextLength, seed: 11 },
      );
      expect(await measureLoss(backbone, samples), course.name).toBeLessThan(highestLosses[course.name] ?? 0);
    }
  } finally {
    await backbone.close();
  }
});

const problemOf = ({ mainQuery, metadata }: Task): string => JSON.stringify([mainQuery, metadata]);

describe.each([
  ['learning-to-ask', patientTasks],
  ['office', jobTasks],
])('the transcripts of %s', (name, reader) => {
  it('never show a task that the tutorial evaluates on', async () => {
    const evaluated = new Set<string>();
    for await (const task of reader.evaluationTasks?.() ?? []) evaluated.add(problemOf(task));
    expect(evaluated.size).toBe(100);
    const course = courses.find((each) => each.name === name);
    const shown = course?.drawTasks({ seed: deriveSeed(micro.seed, name), count: course.numEpisodes }) ?? [];
    expect(shown.filter((task) => evaluated.has(problemOf(task)))).toEqual([]);
  });
});

it('has read no document of the tutorial', () => {
  const names = documentedPlaces.map(nameOf);
  expect(otherPages.filter((page) => names.some((name) => new RegExp(`\\b${name}\\b`).test(page)))).toEqual([]);
});
