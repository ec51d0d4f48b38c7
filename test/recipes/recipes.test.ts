import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { recipes } from './recipes.js';

const root = path.resolve(import.meta.dirname, '../..');

function changedFiles(patch: string): readonly string[] {
  return [...readFileSync(patch, 'utf8').matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, file = '']) => file);
}

it.each(Object.entries(recipes))('the recipe for one more %s applies to the repository', (_, { patch }) => {
  expect(() => execFileSync('git', ['apply', '--check', patch], { cwd: root, stdio: 'pipe' })).not.toThrow();
});

it.each(Object.entries(recipes))('the recipe for one more %s changes one file by hand', (_, { patch, folder }) => {
  expect(changedFiles(patch).filter((file) => !file.startsWith(`${folder}/`))).toHaveLength(1);
});

it('CONTRIBUTING.md has every recipe, with its folder', () => {
  const page = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8');
  for (const [kind, { folder }] of Object.entries(recipes)) {
    expect(page).toContain(`test/recipes/${kind}.patch`);
    expect(page).toContain(path.posix.dirname(folder));
  }
});
