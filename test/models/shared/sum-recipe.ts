import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createOnnxBackbone } from '@agentjet/trainer';
import { learnMerges } from './learn-tokenizer.js';
import { createUntrained, recordCourses } from './make-model.js';
import type { Recipe } from './recipe.js';
import type { Transcripts } from './record-transcripts.js';
import { trainLesson } from './train-lessons.js';

/**
 * Facts about the beginning of a recipe: hashes of the tokenizer, of the random weights and of the first transcripts of
 * each course, and the losses of the first steps. If one of these changes, the recipe makes another model.
 */
export type RecipeSums = {
  readonly tokenizer: string;
  readonly untrained: string;
  readonly transcripts: Readonly<Record<string, string>>;
  /** The loss in nats per token of the first lesson's first steps. The last digits depend on the processor. */
  readonly firstLosses: readonly number[];
};

const numEpisodes = 8;
const numSteps = 3;

function sumBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function sumTranscripts({ samples }: Transcripts): string {
  const hash = createHash('sha256');
  for (const { ids, lossMask } of samples) hash.update(Int32Array.from(ids)).update(Uint8Array.from(lossMask));
  return hash.digest('hex');
}

async function takeFirstSteps(recipe: Recipe, dir: string, seed: number): Promise<readonly number[]> {
  const { optimizer, threads, vocabSize } = recipe;
  const [plan] = recipe.lessons;
  if (plan === undefined) throw new Error('The recipe has no lessons.');
  const backbone = await createOnnxBackbone({ modelDir: dir, optimizer, threads, isInThread: true });
  try {
    const { losses } = await trainLesson(backbone, [], { ...plan, numSteps }, { vocabSize, seed });
    return losses;
  } finally {
    await backbone.close();
  }
}

/**
 * Computes these facts, which takes seconds. The same seed gives the same hashes everywhere, and the same losses on one
 * kind of processor.
 */
export async function sumRecipe(recipe: Recipe, seed: number): Promise<RecipeSums> {
  const dir = await mkdtemp(path.join(tmpdir(), `${recipe.name}-sums-`));
  const sum = async (file: string): Promise<string> => sumBytes(await readFile(path.join(dir, file)));
  try {
    const untrainedDir = path.join(dir, 'untrained');
    await createUntrained(recipe, untrainedDir, { merges: await learnMerges(recipe), seed });
    const recorded = await recordCourses(recipe, untrainedDir, { seed, numEpisodes });
    const firstLosses = await takeFirstSteps(recipe, untrainedDir, seed);
    return {
      tokenizer: await sum('untrained/tokenizer.json'),
      untrained: await sum('untrained/model.safetensors'),
      transcripts: Object.fromEntries(recorded.map((each) => [each.course, sumTranscripts(each)])),
      firstLosses,
    };
  } finally {
    await rm(dir, { recursive: true });
  }
}
