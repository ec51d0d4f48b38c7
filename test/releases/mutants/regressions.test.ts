import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { plantMutant } from '../../mutants/plant-mutant.js';
import { regressions } from './regressions.js';

const root = path.resolve(import.meta.dirname, '../../..');

it.each(regressions)('the regression can still be planted: $name', async (regression) => {
  const source = await readFile(path.join(root, regression.file), 'utf8');
  expect(plantMutant(regression, source)).not.toBe(source);
});
