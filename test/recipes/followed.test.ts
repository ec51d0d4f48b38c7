import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyRepository, followRecipe } from './follow-recipe.js';
import { recipes } from './recipes.js';

/**
 * Each recipe runs a command, a suite and the compiler in separate processes, which takes minutes in all. `.ci/run`
 * asks for this test.
 */
const isAsked = process.env['AJET_LONG_TESTS'] === '1';

describe.runIf(isAsked)('the recipe for one more', () => {
  let copy = '';
  beforeAll(() => {
    copy = copyRepository();
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it.each(Object.entries(recipes))('%s is followed, and its suite passes', (_, recipe) => {
    expect(followRecipe(copy, recipe)).toMatchObject({ passed: true, problems: '' });
  });
});
