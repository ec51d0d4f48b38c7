import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../../.ci/workspaces.mjs';
import { scenarios } from '../scenarios/scenarios.js';
import type { FoundBy } from './finders.js';
import { swarmMutants } from './swarm-mutants.js';

it('each mutant can be planted: what it edits occurs in its file once', () => {
  const misplaced = swarmMutants.flatMap(({ name, edits }) =>
    edits
      .filter(({ file, original }) => readFileSync(path.join(root, file), 'utf8').split(original).length !== 2)
      .map(({ file }) => `${name}: ${file}`),
  );
  expect(misplaced).toEqual([]);
});

it('what found a mutant last is kept for every mutant, and can be tried again', () => {
  const foundBy = JSON.parse(readFileSync(path.join(import.meta.dirname, 'found-by.json'), 'utf8')) as FoundBy;
  expect(Object.keys(foundBy)).toEqual(swarmMutants.map(({ name }) => name));
  const gone = Object.values(foundBy).filter((finder) => 'scenario' in finder && !(finder.scenario in scenarios));
  expect(gone).toEqual([]);
});
