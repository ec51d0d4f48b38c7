/** Makes the nano model: transcripts, tokenizer, random weights, three lessons, model card. `npm run train:nano` */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createModelFolder, createOnnxBackbone } from '@agentjet/trainer';
import { courses } from './courses.js';
import { learnMerges } from './learn-tokenizer.js';
import { type TrainingReport, writeModelCard } from './model-card.js';
import { configJson, lessons, optimizer, recipe } from './nano-recipe.js';
import { recordTranscripts, type Transcripts } from './record-transcripts.js';
import { createTokenizerConfig, createTokenizerJson, turnEnd } from './tokenizer-files.js';
import { type LessonReport, measureLoss, trainLesson } from './train-lessons.js';
import type { Merge } from './train-bpe.js';

const heldOutEpisodes = 100;

async function writeJson(file: string, content: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(content)}\n`);
}

/** A folder with random weights and the learned tokenizer. */
async function createUntrained(dir: string, merges: readonly Merge[]): Promise<number> {
  const tokenizerJson = createTokenizerJson(merges);
  const { numParameters } = await createModelFolder(dir, {
    config: configJson,
    seed: recipe.seed,
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

async function recordAll(dir: string, seed: number, numEpisodes?: number): Promise<readonly Transcripts[]> {
  const chatTokenizer = await loadChatTokenizer(dir);
  const recorded: Transcripts[] = [];
  for (const course of courses) {
    const wanted = numEpisodes === undefined ? course : { ...course, numEpisodes };
    recorded.push(await recordTranscripts(wanted, { chatTokenizer, contextLength: recipe.contextLength, seed }));
    console.log(`recorded ${wanted.numEpisodes} episodes of ${course.name}`);
  }
  return recorded;
}

/** Takes the model of one folder through all lessons to another folder. */
async function teach(from: string, to: string, transcripts: readonly Transcripts[]): Promise<readonly LessonReport[]> {
  const samples = transcripts.flatMap((course) => course.samples);
  const backbone = await createOnnxBackbone({ modelDir: from, optimizer });
  try {
    const reports: LessonReport[] = [];
    for (const plan of lessons) reports.push(await trainLesson(backbone, samples, plan));
    await backbone.save(to);
    return reports;
  } finally {
    await backbone.close();
  }
}

async function measureHeldOut(trainedDir: string): Promise<Readonly<Record<string, number>>> {
  const heldOut = await recordAll(trainedDir, recipe.seed + lessons.length, heldOutEpisodes);
  const backbone = await createOnnxBackbone({ modelDir: trainedDir, train: false });
  try {
    const losses = await Promise.all(
      heldOut.map(async ({ course, samples }) => [course, await measureLoss(backbone, samples)] as const),
    );
    return Object.fromEntries(losses);
  } finally {
    await backbone.close();
  }
}

/** The trained folder without what only a resumed training needs. */
async function publish(trainedDir: string, report: TrainingReport): Promise<void> {
  await rm(path.join(trainedDir, 'trainer_state'), { recursive: true });
  await writeFile(path.join(trainedDir, 'README.md'), writeModelCard(report));
  await rm(nanoModelDir, { recursive: true, force: true });
  await cp(trainedDir, nanoModelDir, { recursive: true });
}

const startedAt = performance.now();
const workDir = await mkdtemp(path.join(tmpdir(), 'nano-'));
const [untrainedDir, trainedDir] = [path.join(workDir, 'untrained'), path.join(workDir, 'trained')];
const merges = await learnMerges(courses);
const numParameters = await createUntrained(untrainedDir, merges);
const transcripts = await recordAll(untrainedDir, recipe.seed);
const reports = await teach(untrainedDir, trainedDir, transcripts);
const heldOutLoss = await measureHeldOut(trainedDir);
const seconds = (performance.now() - startedAt) / 1000;
const machine = `${availableParallelism()} CPU cores`;
await publish(trainedDir, {
  numParameters,
  vocabSize: recipe.vocabSize,
  numMerges: merges.length,
  transcripts,
  lessons: reports,
  heldOutLoss,
  seconds,
  machine,
});
await rm(workDir, { recursive: true });
console.log(`nano: ${numParameters} parameters, ${seconds.toFixed(0)} seconds, written to ${nanoModelDir}`);
