import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { tensorTypes } from './registrations.js';

/** These values were written by the Python package `gguf` 0.19.0. test/nightly/gguf/make_golden.py makes them. */
const golden = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../golden/types.json'), 'utf8')) as Record<
  string,
  { readonly blocks: string; readonly values: string }
>;
const computed = tensorTypes.flatMap(({ name, dequantize }) =>
  dequantize === undefined ? [] : [{ name, dequantize }],
);

it('computes every type that is not plain numbers', () => {
  const kept = Object.keys(golden).filter((name) => !name.startsWith('quantize'));
  expect(computed.map(({ name }) => name).toSorted()).toEqual(kept.toSorted());
});

it.each(computed)('$name gives the values of the reference, bit for bit', ({ name, dequantize }) => {
  const expected = Buffer.from(golden[name]?.values ?? '', 'base64');
  const values = new Float32Array(expected.length / 4);
  dequantize(Buffer.from(golden[name]?.blocks ?? '', 'base64'), values);
  expect(values.length).toBeGreaterThan(200);
  expect(Buffer.from(values.buffer).equals(expected)).toBe(true);
});
