import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ownFiles } from '../../.ci/own-files.mjs';

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

it('the page of a package has at most 60 lines', () => {
  const pages = ownFiles().filter((file) => /^(?:packages|trainer|adapters\/[^/]+)\/(?:.*\/)?README\.md$/.test(file));
  const long = pages.filter((file) => linesOf(file).length > 61).map((file) => `${file}: ${linesOf(file).length}`);
  expect(pages.length).toBeGreaterThan(40);
  expect(long).toEqual([]);
});

it('the page about troubleshooting explains every cause that the doctor can name, and no other', () => {
  const sources = ownFiles('packages/diagnose/src/examine/causes').filter((file) => !file.endsWith('.test.ts'));
  const causes = sources.flatMap((file) => [
    ...linesOf(file)
      .join('\n')
      .matchAll(/\bname: '([a-z_]+)'/g),
  ]);
  const rows = linesOf('docs/troubleshooting.md').filter((line) => line.startsWith('| `'));
  const explained = rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([a-z_]+)`/g)]);
  const namesOf = (found: readonly RegExpMatchArray[]) => new Set(found.map(([, name = '']) => name));
  expect(causes.length).toBeGreaterThan(30);
  expect(namesOf(explained)).toEqual(namesOf(causes));
});

/** Pages that a program writes, and lists of what changed. */
const notWritten =
  /^(?:docs\/RESULTS|CHANGELOG|AGENTS|test\/|trainer\/torch\/LOG|packages\/[^/]+\/model\/)|\/documents\/documents\//;

/** The words of a page's paragraphs, without code, tables and what a link leads to. */
function wordsOf(file: string): readonly string[] {
  const text = linesOf(file)
    .filter((line) => !line.startsWith('|'))
    .join('\n')
    .replace(/```[^]*?```/g, '')
    .replace(/<!--[^]*?-->|\]\([^)]*\)/g, '');
  return text.toLowerCase().match(/[\w'/.-]+/g) ?? [];
}

it('no passage of 18 words is on two pages', () => {
  const places = new Map<string, string>();
  const twice = new Set<string>();
  for (const file of ownFiles().filter((name) => name.endsWith('.md') && !notWritten.test(name))) {
    const words = wordsOf(file);
    for (let at = 0; at + 18 <= words.length; at++) {
      const passage = words.slice(at, at + 18).join(' ');
      const before = places.get(passage);
      if (before === undefined) places.set(passage, file);
      else if (before !== file) twice.add(`${before} and ${file}: ${passage}`);
    }
  }
  expect([...twice]).toEqual([]);
});
