/**
 * Makes the nano model: transcripts, tokenizer, random weights, three lessons, model card.
 * `npm run train:nano`, or `npm run train:nano -- --seed 7 --out /tmp/nano-7` for another model in another folder;
 * `npm run train:nano -- --sums` only writes `sums.json`, how the recipe begins.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { nanoModelDir } from '@agentjet/nano';
import { createOnnxBackbone } from '@agentjet/trainer';
import { courses } from './courses.js';
import { learnMerges } from './learn-tokenizer.js';
import { createUntrained, recordCourses, teach } from './make-model.js';
import { type TrainingReport, writeModelCard } from './model-card.js';
import { lessons, recipe } from './nano-recipe.js';
import { sumRecipe } from './sum-recipe.js';
import { measureLoss } from './train-lessons.js';

const heldOutEpisodes = 100;

async function measureHeldOut(trainedDir: string, seed: number): Promise<Readonly<Record<string, number>>> {
  const heldOut = await recordCourses(trainedDir, seed + lessons.length, { numEpisodes: heldOutEpisodes });
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
async function publish(trainedDir: string, outDir: string, report: TrainingReport): Promise<void> {
  await rm(path.join(trainedDir, 'trainer_state'), { recursive: true });
  await writeFile(path.join(trainedDir, 'README.md'), writeModelCard(report));
  await rm(outDir, { recursive: true, force: true });
  await cp(trainedDir, outDir, { recursive: true });
}

async function makeModel(seed: number, outDir: string): Promise<void> {
  const startedAt = performance.now();
  const workDir = await mkdtemp(path.join(tmpdir(), 'nano-'));
  const [untrainedDir, trainedDir] = [path.join(workDir, 'untrained'), path.join(workDir, 'trained')];
  const merges = await learnMerges(courses);
  const numParameters = await createUntrained(untrainedDir, merges, seed);
  const transcripts = await recordCourses(untrainedDir, seed, { say: console.log });
  const reports = await teach(untrainedDir, trainedDir, transcripts, seed);
  const heldOutLoss = await measureHeldOut(trainedDir, seed);
  const seconds = (performance.now() - startedAt) / 1000;
  await publish(trainedDir, outDir, {
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
  console.log(`nano: ${numParameters} parameters, ${seconds.toFixed(0)} seconds, written to ${outDir}`);
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(recipe.seed) },
    out: { type: 'string', default: nanoModelDir },
    sums: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
if (!Number.isSafeInteger(seed) || seed < 0)
  throw new Error(`--seed is "${values.seed}"; it must be a whole number, 0 or more, such as 7.`);
if (values.sums)
  await writeFile(
    path.join(import.meta.dirname, 'sums.json'),
    `${JSON.stringify({ seed, ...(await sumRecipe(seed)) }, null, 2)}\n`,
  );
else await makeModel(seed, values.out);
