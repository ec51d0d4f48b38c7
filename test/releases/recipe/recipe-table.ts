import { median } from '../../bench/bench.js';
import { medianAbsoluteDeviation } from '../statistics.js';

/**
 * Does the recipe of the nano model make an equally good model with every seed? Each tutorial is trained on the models
 * of several recipe seeds, and the results are compared.
 */

/** One tutorial, trained on one model with one seed. */
export type RecipeRun = {
  readonly tutorial: string;
  /** The seed that made the model: `npm run train:nano -- --seed`. */
  readonly recipe_seed: number;
  readonly model_sha256: string;
  readonly run_seed: number;
  /** Success on the held-out tasks, 0..1. */
  readonly before: number;
  readonly after: number;
};

export type TutorialRow = {
  readonly tutorial: string;
  /** Median success before and after training on each model, by recipe seed. */
  readonly before: { readonly [recipeSeed: string]: number };
  readonly after: { readonly [recipeSeed: string]: number };
  /** The largest allowed distance of a model from the median model. */
  readonly band: number;
  /** Null for fewer than three models, which are too few to judge the recipe. */
  readonly within_noise: boolean | null;
};

/** The least band, which has the same value in the gate of the releases. */
const smallestBand = 0.03;
const deviations = 3;
const fewestModels = 3;

function byModel(
  runs: readonly RecipeRun[],
  of: (run: RecipeRun) => number,
): readonly (readonly [string, readonly number[]])[] {
  const seeds = [...new Set(runs.map(({ recipe_seed }) => recipe_seed))];
  return seeds.map((seed) => [String(seed), runs.filter(({ recipe_seed }) => recipe_seed === seed).map(of)]);
}

function toRow(tutorial: string, runs: readonly RecipeRun[]): TutorialRow {
  const after = byModel(runs, (run) => run.after);
  const medians = after.map(([seed, values]) => [seed, median(values)] as const);
  const band = Math.max(smallestBand, ...after.map(([, values]) => deviations * medianAbsoluteDeviation(values)));
  const middle = median(medians.map(([, value]) => value));
  return {
    tutorial,
    before: Object.fromEntries(byModel(runs, (run) => run.before).map(([seed, values]) => [seed, median(values)])),
    after: Object.fromEntries(medians),
    band,
    within_noise:
      medians.length < fewestModels ? null : medians.every(([, value]) => Math.abs(value - middle) <= band + 1e-9),
  };
}

/**
 * Makes a row per tutorial. A model is within noise of the others if its median is at most the band away from the
 * median of all models. The band is 0.03, or three times the median absolute deviation of the run seeds on one model if
 * that is more.
 */
export function tabulateRecipe(runs: readonly RecipeRun[]): readonly TutorialRow[] {
  const tutorials = [...new Set(runs.map(({ tutorial }) => tutorial))];
  return tutorials.map((tutorial) =>
    toRow(
      tutorial,
      runs.filter((run) => run.tutorial === tutorial),
    ),
  );
}
