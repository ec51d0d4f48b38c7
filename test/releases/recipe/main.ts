import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isBundledModel } from '@agentjet/core';
import { chooseCells } from '../cells.js';
import type { Cell } from '../cells/cell.js';
import { parseOptions } from '../parse-options.js';
import { hashModel } from '../release-identity.js';
import { runSeed } from '../run-seed.js';
import { type RecipeRun, tabulateRecipe, type TutorialRow } from './recipe-table.js';

/**
 * `npm run releases:recipe -- --model 20261121=<folder> --model 7=<folder>` trains the tutorials on models that `npm
 * run train:nano -- --seed 7 --out <folder>` made, and keeps their results in `nano.json`. With `--recipe micro` it
 * trains the tutorials of micro on models that `npm run train:micro` made, and keeps `micro.json`. If a run of a model
 * with the same weights is kept, it is not repeated. Kept runs of other weights with the same recipe seed are removed.
 * Each run uses one thread, so the figures do not depend on the cores.
 */

type Kept = { readonly tutorials: readonly TutorialRow[]; readonly runs: readonly RecipeRun[] };
type Model = { readonly recipeSeed: number; readonly folder: string; readonly sha256: string };

const values = parseOptions({
  options: {
    recipe: { type: 'string', default: 'nano' },
    model: { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    out: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const resultsFile = (): string => values.out ?? path.join(import.meta.dirname, `${parseRecipe(values.recipe)}.json`);

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function parseRecipe(name: string): string {
  if (isBundledModel(name)) return name;
  throw new Error(`--recipe is "${name}"; it must be nano or micro.`);
}

function parseModel(text: string): Model {
  const [, seed, folder] = /^(\d+)=(.+)$/.exec(text) ?? [];
  if (seed === undefined || folder === undefined)
    throw new Error(`--model is "${text}"; it must be <recipe seed>=<folder>, such as 7=/tmp/nano-7.`);
  return { recipeSeed: Number(seed), folder: path.resolve(folder), sha256: hashModel(path.resolve(folder)) };
}

function parseSeeds(text: string): readonly number[] {
  const seeds = text.split(',').map(Number);
  if (!seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0))
    throw new Error(`--seeds is "${text}"; it must be whole numbers such as 1,2,3.`);
  return seeds;
}

function readKept(models: readonly Model[]): readonly RecipeRun[] {
  if (!existsSync(resultsFile())) return [];
  const { runs } = JSON.parse(readFileSync(resultsFile(), 'utf8')) as Kept;
  const isOfOtherWeights = ({ recipe_seed, model_sha256 }: RecipeRun): boolean =>
    models.some(({ recipeSeed, sha256 }) => recipeSeed === recipe_seed && sha256 !== model_sha256);
  return runs.filter((run) => !isOfOtherWeights(run));
}

async function train(cell: Cell, { folder, recipeSeed, sha256 }: Model, seed: number): Promise<RecipeRun> {
  const overrides = [...cell.overrides, `model.path=${folder}`, 'onnx.num_threads=1'];
  const { result } = await runSeed({ ...cell, model: folder, overrides }, seed);
  return {
    tutorial: cell.tutorial,
    recipe_seed: recipeSeed,
    model_sha256: sha256,
    run_seed: seed,
    before: result.success_before ?? 0,
    after: result.success_after ?? result.success_mean_last_20,
  };
}

function keep(runs: readonly RecipeRun[]): Kept {
  const sorted = runs.toSorted(
    (a, b) => a.tutorial.localeCompare(b.tutorial) || a.recipe_seed - b.recipe_seed || a.run_seed - b.run_seed,
  );
  const kept = { tutorials: tabulateRecipe(sorted), runs: sorted };
  writeFileSync(resultsFile(), `${JSON.stringify(kept, null, 2)}\n`);
  return kept;
}

async function measure(): Promise<Kept> {
  const models = values.model.map(parseModel);
  let runs = readKept(models);
  for (const cell of chooseCells({ only: values.only }).filter(({ model }) => model === values.recipe))
    for (const seed of parseSeeds(values.seeds))
      for (const model of models) {
        const isOfCell = (run: RecipeRun): boolean =>
          run.tutorial === cell.tutorial && run.recipe_seed === model.recipeSeed && run.run_seed === seed;
        if (runs.some(isOfCell)) continue;
        const run = await train(cell, model, seed);
        say(`${cell.tutorial}, recipe seed ${run.recipe_seed}, seed ${seed}: ${run.before} -> ${run.after}`);
        runs = [...runs, run];
        keep(runs);
      }
  return keep(runs);
}

try {
  const { tutorials } = await measure();
  const verdictOf = ({ within_noise: isWithin }: TutorialRow): string =>
    isWithin === null ? 'too few models' : isWithin ? 'within noise' : 'OUTSIDE of noise';
  for (const row of tutorials)
    say(`${row.tutorial}: ${verdictOf(row)}, ${JSON.stringify(row.after)}, band ${row.band.toFixed(3)}`);
  if (values.json)
    process.stdout.write(
      `${JSON.stringify({ tutorials: tutorials.length, within_noise: tutorials.filter((row) => row.within_noise === true).length })}\n`,
    );
  process.exitCode = tutorials.some((row) => row.within_noise === false) ? 1 : 0;
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
