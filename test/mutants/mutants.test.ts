import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { mutants } from './mutants.js';
import { plantMutant } from './plant-mutant.js';

const root = path.resolve(import.meta.dirname, '../..');

test.each(mutants)('the mutant can still be planted: $name', async (mutant) => {
  const source = await readFile(path.join(root, mutant.file), 'utf8');
  expect(plantMutant(mutant, source)).not.toBe(source);
});

test('a mutant whose place is gone is an error that says which', () => {
  expect(() => plantMutant({ name: 'x', file: 'a.ts', original: 'gone', mutated: '' }, 'source')).toThrow(
    /Cannot plant "x": a\.ts holds "gone" 0 times/,
  );
});
