import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteSlab } from './byte-slab.js';
import { packIds, unpackIds } from './packed-ids.js';

const slab = new ByteSlab();
const bitsOf = (ids: Int32Array): number => ids.reduce((bits, id) => bits | id, 0);

test.each([
  ['none', [], 2],
  ['small ones', [0, 65_535, 7], 2],
  ['ids of a large vocabulary', [0, 65_536, 151_643], 3],
  ['the largest that three bytes hold', [2 ** 24 - 1], 3],
  ['larger ones', [2 ** 24, 2 ** 31 - 1], 4],
  ['negative ones', [-1, 5], 4],
])('%s are packed and read again', (_what, numbers, width) => {
  const ids = Int32Array.from(numbers);
  const packed = packIds(ids, bitsOf(ids), slab);
  expect(packed.width).toBe(width);
  expect(packed.bytes.length).toBe(width * ids.length);
  expect(unpackIds(packed.bytes, packed.width)).toStrictEqual(ids);
});

test('any ids are read as they were, from shared memory too', () => {
  fc.assert(
    fc.property(fc.int32Array(), (ids) => {
      const shared = new Int32Array(new SharedArrayBuffer(4 * ids.length));
      shared.set(ids);
      const { width, bytes } = packIds(shared, bitsOf(ids), slab);
      expect(unpackIds(bytes, width)).toStrictEqual(Int32Array.from(ids));
    }),
  );
});
