import { expect, it } from 'vitest';
import { findChoiceShortfalls, findShortfalls } from './find-shortfalls.js';

const good = {
  calculator: { before: 0.22, after: 0.99 },
  json: { before: 0.57, after: 1 },
  langgraph: { before: 0.54, after: 0.98 },
  first_run: { before: 0.54, after: 0.98 },
  two_players: { before: -1.13, after: 0.1 },
};

it('finds nothing if every tutorial meets its bar', () => {
  expect(findShortfalls(good)).toEqual([]);
});

it.each([
  ['calculator', { before: 0.7, after: 0.99 }],
  ['calculator', { before: 0.22, after: 0.94 }],
  ['first_run', { before: 0.2, after: 0.9 }],
  ['first_run', { before: 0.5, after: 0.65 }],
  ['two_players', { before: 0, after: 0 }],
  ['json', undefined],
  ['langgraph', { before: 0.5, after: null }],
])('names %s with %j', (key, figures) => {
  expect(findShortfalls({ ...good, [key]: figures })).toEqual([expect.stringContaining(key)]);
});

const bfcl = {
  simple: { before: 0.01, after: 0.56 },
  multiple: { before: 0, after: 0.47 },
  irrelevance: { before: 0.45, after: 0.4 },
};

it('finds nothing if each kind of question meets its bar', () => {
  expect(findChoiceShortfalls({ bfcl })).toEqual([]);
});

it.each([
  ['simple', { before: 0.5, after: 0.6 }],
  ['multiple', { before: 0.5, after: null }],
  ['irrelevance', { before: 0.5, after: 0.44 }],
  ['simple', undefined],
])('names %s with %j', (kind, stages) => {
  expect(findChoiceShortfalls({ bfcl: { ...bfcl, [kind]: stages } })).toEqual([expect.stringContaining(kind)]);
});

it('says why BFCL was skipped', () => {
  expect(findChoiceShortfalls({ bfcl: { skipped: 'no index' } })).toEqual(['bfcl was skipped: "no index"']);
  expect(findChoiceShortfalls({})).toEqual(['bfcl was not measured']);
});
