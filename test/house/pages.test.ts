import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const linesOf = (file: string): readonly string[] => readFileSync(path.join(root, file), 'utf8').split('\n');

it('the README of the project has at most 700 words, no line over 120 columns, and all its parts', () => {
  const lines = linesOf('README.md');
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
  expect(lines.join(' ').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
  expect(lines.filter((line) => line.startsWith('## '))).toEqual([
    '## Two commands',
    '## One line of your agent',
    '## A real language model',
    '## Where to read next',
    '## How it compares',
    '## What it cannot do',
  ]);
  expect(lines.join('\n')).toMatch(/^!\[.*^git clone .*^npm start .*^npm test .*Apache-2\.0\.$/ms);
});

it('a heading of the changelog has at most ten lines', () => {
  const long = linesOf('CHANGELOG.md')
    .join('\n')
    .split(/^#+ /m)
    .filter((part) => part.split('\n').filter((line) => line.startsWith('- ')).length > 10);
  expect(long).toEqual([]);
});
