import path from 'node:path';

/**
 * One worked example for each kind of entry in CONTRIBUTING.md: a patch, written by hand, with the new folder and the
 * line that lists it, and the command to run afterwards.
 */
export type Recipe = {
  /** The folder that holds all new files. */
  readonly folder: string;
  readonly patch: string;
  /** The command of the recipe. It writes the generated files. */
  readonly command: readonly [program: string, ...args: readonly string[]];
};

/** The tools of this repository, by their paths in a copy of it. */
const manual = ['node_modules/.bin/tsx', '--tsconfig', 'tsconfig.check.json', '.ci/manual.mjs'] as const;
const packages = [process.execPath, '.ci/packages.mjs'] as const;

function recipe(kind: string, folder: string, command: Recipe['command']): Recipe {
  return { folder, patch: path.join(import.meta.dirname, `${kind}.patch`), command };
}

export const recipes: Readonly<Record<string, Recipe>> = {
  adapter: recipe('adapter', 'adapters/function', packages),
  reader: recipe('reader', 'packages/rollout/src/readers/csv-dataset-file', manual),
  judge: recipe('judge', 'packages/rollout/src/judges/exact-match', manual),
  algorithm: recipe('algorithm', 'trainer/src/algorithms/raft', manual),
  backbone: recipe('backbone', 'trainer/src/backbones/tiny', manual),
  template: recipe('template', 'packages/tokenizer/src/families/mistral', manual),
};
