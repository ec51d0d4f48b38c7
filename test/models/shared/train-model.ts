import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createOnnxBackbone } from '@agentjet/trainer';
import { learnMerges } from './learn-tokenizer.js';
import { createUntrained, recordCourses, teach } from './make-model.js';
import { type TrainingReport, writeModelCard } from './model-card.js';
import type { Recipe } from './recipe.js';
import { sumRecipe } from './sum-recipe.js';
import { measureLoss } from './train-lessons.js';

const heldOutEpisodes = 100;

async function measureHeldOut(
  recipe: Recipe,
  trainedDir: string,
  seed: number,
): Promise<Readonly<Record<string, number>>> {
  const heldOut = await recordCourses(recipe, trainedDir, {
    seed: seed + recipe.lessons.length,
    numEpisodes: heldOutEpisodes,
  });
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

/** Copies the trained folder without the files that only a resumed training needs. */
async function publish(recipe: Recipe, trainedDir: string, outDir: string, report: TrainingReport): Promise<void> {
  await rm(path.join(trainedDir, 'trainer_state'), { recursive: true });
  await writeFile(path.join(trainedDir, 'README.md'), writeModelCard(recipe, report));
  await rm(outDir, { recursive: true, force: true });
  await cp(trainedDir, outDir, { recursive: true });
}

async function makeModel(recipe: Recipe, seed: number, outDir: string): Promise<void> {
  const startedAt = performance.now();
  const workDir = await mkdtemp(path.join(tmpdir(), `${recipe.name}-`));
  const [untrainedDir, trainedDir] = [path.join(workDir, 'untrained'), path.join(workDir, 'trained')];
  const merges = await learnMerges(recipe);
  const numParameters = await createUntrained(recipe, untrainedDir, { merges, seed });
  const transcripts = await recordCourses(recipe, untrainedDir, { seed, say: console.log });
  const reports = await teach(recipe, { from: untrainedDir, to: trainedDir }, transcripts, seed);
  const heldOutLoss = await measureHeldOut(recipe, trainedDir, seed);
  const seconds = (performance.now() - startedAt) / 1000;
  await publish(recipe, trainedDir, outDir, {
    seed,
    numParameters,
    numMerges: merges.length,
    transcripts,
    lessons: reports,
    heldOutLoss,
    seconds,
    machine: `${availableParallelism()} CPU cores`,
  });
  await rm(workDir, { recursive: true });
  console.log(`${recipe.name}: ${numParameters} parameters, ${seconds.toFixed(0)} seconds, written to ${outDir}`);
}

/**
 * The program `npm run train:<name>`. It records transcripts, learns the tokenizer, makes random weights, trains the
 * lessons and writes the model card. `-- --seed 7 --out <folder>` makes another model in another folder. `-- --sums`
 * only writes the facts about the beginning of the recipe to `sums.json` in `recipeDir`.
 */
export async function trainModel(
  recipe: Recipe,
  { modelDir, recipeDir }: { readonly modelDir: string; readonly recipeDir: string },
): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(recipe.seed) },
      out: { type: 'string', default: modelDir },
      sums: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Error(`--seed is "${values.seed}"; it must be a whole number, 0 or more, such as 7.`);
  if (!values.sums) return makeModel(recipe, seed, values.out);
  const sums = { seed, ...(await sumRecipe(recipe, seed)) };
  await writeFile(path.join(recipeDir, 'sums.json'), `${JSON.stringify(sums, null, 2)}\n`);
}
