import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createModelFolder, createOnnxBackbone } from '@agentjet/trainer';
import type { Recipe } from './recipe.js';
import { recordTranscripts, type Transcripts } from './record-transcripts.js';
import { createTokenizerConfig, createTokenizerJson, turnEnd } from './tokenizer-files.js';
import type { Merge } from './train-bpe.js';
import { type LessonReport, trainLesson } from './train-lessons.js';

/** The stages in which a model is made, from random weights to the last lesson. The same seed makes the same model. */

async function writeJson(file: string, content: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(content)}\n`);
}

/** Writes a folder with random weights and the learned tokenizer. Resolves to the number of parameters. */
export async function createUntrained(
  recipe: Recipe,
  dir: string,
  { merges, seed }: { readonly merges: readonly Merge[]; readonly seed: number },
): Promise<number> {
  const tokenizerJson = createTokenizerJson(merges);
  const { numParameters } = await createModelFolder(dir, {
    config: recipe.configJson,
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

/**
 * Records transcripts of all courses in the tokens of `dir`: as many episodes as each course says, or `numEpisodes` of
 * each course.
 */
export async function recordCourses(
  recipe: Recipe,
  dir: string,

  {
    seed,
    numEpisodes,
    say = () => undefined,
  }: { readonly seed: number; readonly numEpisodes?: number; readonly say?: (line: string) => void },
): Promise<readonly Transcripts[]> {
  const chatTokenizer = await loadChatTokenizer(dir);
  const recorded: Transcripts[] = [];
  for (const course of recipe.courses) {
    const wanted = numEpisodes === undefined ? course : { ...course, numEpisodes };
    recorded.push(await recordTranscripts(wanted, { chatTokenizer, contextLength: recipe.contextLength, seed }));
    say(`recorded ${wanted.numEpisodes} episodes of ${course.name}`);
  }
  return recorded;
}

/** Trains the model of the folder `from` in all lessons, and writes it to the folder `to`. */
export async function teach(
  recipe: Recipe,
  { from, to }: { readonly from: string; readonly to: string },
  transcripts: readonly Transcripts[],
  seed: number,
): Promise<readonly LessonReport[]> {
  const { lessons, optimizer, threads, vocabSize } = recipe;
  const backbone = await createOnnxBackbone({ modelDir: from, optimizer, threads });
  const samples = transcripts.flatMap((course) => course.samples);
  const reports: LessonReport[] = [];
  try {
    for (const [index, plan] of lessons.entries())
      reports.push(await trainLesson(backbone, samples, plan, { vocabSize, seed: seed + index }));
    await backbone.save(to);
    return reports;
  } finally {
    await backbone.close();
  }
}
