import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../../.ci/workspaces.mjs';
import { swarmMutants } from './swarm-mutants.js';

it('each mutant can be planted: what it edits occurs in its file once', () => {
  const misplaced = swarmMutants.flatMap(({ name, edits }) =>
    edits
      .filter(({ file, original }) => readFileSync(path.join(root, file), 'utf8').split(original).length !== 2)
      .map(({ file }) => `${name}: ${file}`),
  );
  expect(misplaced).toEqual([]);
});
