import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { keptFamilies } from './families.js';

const { families } = JSON.parse(readFileSync(keptFamilies, 'utf8')) as {
  readonly families: Readonly<Record<string, string>>;
};
const withResult = (result: string): readonly string[] =>
  Object.keys(families).filter((name) => families[name] === result);

test('every family that opens is computed as its own code does, or refused', () => {
  expect(Object.keys(families).length).toBeGreaterThanOrEqual(40);
  expect(withResult('equal').length).toBeGreaterThanOrEqual(30);
  expect(withResult('equal').length + withResult('refused').length).toBe(Object.keys(families).length);
});

test('no family is refused that was computed rightly before the worker compared forward passes', () => {
  const file = path.join(import.meta.dirname, 'data/families-before.json');
  const before = JSON.parse(readFileSync(file, 'utf8')) as { readonly equal: readonly string[] };
  expect(before.equal.filter((name) => families[name] !== 'equal')).toEqual([]);
});
