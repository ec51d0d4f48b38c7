import { expect, it } from 'vitest';
import { isJsonObject, parseJsonObject } from './json-object.js';

it('an object with keys is one; lists, null and scalars are not', () => {
  expect([{}, { a: 1 }].map(isJsonObject)).toEqual([true, true]);
  expect([[], null, undefined, 'text', 1].map(isJsonObject)).toEqual([false, false, false, false, false]);
});

it('a string that is not a JSON object gives undefined', () => {
  expect(parseJsonObject(' {"a": [1]} ')).toEqual({ a: [1] });
  expect(['[1]', 'null', '"{}"', '{"a":', '', '{a: 1}'].map(parseJsonObject)).toEqual(Array.from({ length: 6 }));
});
