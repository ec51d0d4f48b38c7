import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Backbone, Sample } from '@agentjet/core';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createModelFolder, createOnnxBackbone } from '@agentjet/trainer';
import { courses } from './courses.js';
import { configJson, lessons, optimizer, recipe } from './nano-recipe.js';
import { recordTranscripts, type Transcripts } from './record-transcripts.js';
import { createTokenizerConfig, createTokenizerJson, turnEnd } from './tokenizer-files.js';
import type { Merge } from './train-bpe.js';
import { type LessonReport, trainLesson } from './train-lessons.js';

/** The stages from random weights to a model that has had its lessons. The same seed makes the same model. */

async function writeJson(file: string, content: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(content)}\n`);
}

/** Writes a folder with random weights and the learned tokenizer. Resolves to the number of parameters. */
export async function createUntrained(dir: string, merges: readonly Merge[], seed: number): Promise<number> {
  const tokenizerJson = createTokenizerJson(merges);
  const { numParameters } = await createModelFolder(dir, {
    config: configJson,
    seed,
    standardDeviation: recipe.initialDeviation,
  });
  await writeJson(path.join(dir, 'tokenizer.json'), tokenizerJson);
  await writeJson(path.join(dir, 'tokenizer_config.json'), createTokenizerConfig(recipe.contextLength));
  const { tokenizer } = await loadChatTokenizer(dir);
  const ends = [turnEnd, '<|endoftext|>'].map((token) => tokenizer.idOf(token));
  await writeJson(path.join(dir, 'generation_config.json'), {
    eos_token_id: ends,
    pad_token_id: ends[1],
    do_sample: true,
    temperature: 1,
  });
  if (tokenizer.vocabSize !== recipe.vocabSize)
    throw new Error(
      `The transcripts fill ${tokenizer.vocabSize} tokens, not the ${recipe.vocabSize} of the recipe. Change vocabSize.`,
    );
  return numParameters;
}

/** Transcripts of all courses in the tokens of `dir`: as many episodes as each course says, or `numEpisodes` of each. */
export async function recordCourses(
  dir: string,
  seed: number,
  { numEpisodes, say = () => undefined }: { readonly numEpisodes?: number; readonly say?: (line: string) => void } = {},
): Promise<readonly Transcripts[]> {
  const chatTokenizer = await loadChatTokenizer(dir);
  const recorded: Transcripts[] = [];
  for (const course of courses) {
    const wanted = numEpisodes === undefined ? course : { ...course, numEpisodes };
    recorded.push(await recordTranscripts(wanted, { chatTokenizer, contextLength: recipe.contextLength, seed }));
    say(`recorded ${wanted.numEpisodes} episodes of ${course.name}`);
  }
  return recorded;
}

async function trainLessons(
  backbone: Backbone,
  samples: readonly Sample[],
  seed: number,
): Promise<readonly LessonReport[]> {
  const reports: LessonReport[] = [];
  for (const [index, plan] of lessons.entries()) reports.push(await trainLesson(backbone, samples, plan, seed + index));
  return reports;
}

/** Takes the model of one folder through all lessons to another folder. */
export async function teach(
  from: string,
  to: string,
  transcripts: readonly Transcripts[],
  seed: number,
): Promise<readonly LessonReport[]> {
  const backbone = await createOnnxBackbone({ modelDir: from, optimizer, threads: recipe.threads });
  try {
    const samples = transcripts.flatMap((course) => course.samples);
    const reports = await trainLessons(backbone, samples, seed);
    await backbone.save(to);
    return reports;
  } finally {
    await backbone.close();
  }
}
