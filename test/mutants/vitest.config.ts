import path from 'node:path';
import { defineConfig, mergeConfig, type Plugin } from 'vitest/config';
import base from '../../vitest.config.js';
import { mutants } from './mutants.js';
import { plantMutant } from './plant-mutant.js';

const root = path.resolve(import.meta.dirname, '../..');

/** Changes one file as it is loaded: MUTANT is the number of the mutant. Without it nothing is changed. */
function planter(): Plugin {
  const mutant = mutants[Number(process.env['MUTANT'] ?? Number.NaN)];
  return {
    name: 'plant-mutant',
    enforce: 'pre',
    transform: (code, id) =>
      mutant !== undefined && id === path.join(root, mutant.file) ? plantMutant(mutant, code) : undefined,
  };
}

export default mergeConfig(base, defineConfig({ root, plugins: [planter()] }));
