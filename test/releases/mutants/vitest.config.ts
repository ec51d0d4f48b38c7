import path from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import base from '../../../vitest.config.js';
import { plantMutant } from '../../mutants/plant-mutant.js';
import { regressions } from './regressions.js';

const root = path.resolve(import.meta.dirname, '../../..');

/** Changes one file as it is loaded: REGRESSION is the number of the regression. Without it nothing is changed. */
function planter(): Plugin {
  const regression = regressions[Number(process.env['REGRESSION'] ?? Number.NaN)];
  return {
    name: 'plant-regression',
    enforce: 'pre',
    transform: (code, id) =>
      regression !== undefined && id === path.join(root, regression.file) ? plantMutant(regression, code) : undefined,
  };
}

const { projects: _projects, ...common } = base.test ?? {};

export default defineConfig({
  ...base,
  root,
  plugins: [planter()],
  test: { ...common, include: ['test/releases/mutants/train-seeds.ts'] },
});
