import { expect, it } from 'vitest';
import { copyPlain } from './copy-plain.js';

it('copies lists, plain objects and dates, and shares functions and instances', () => {
  class Board {}
  const board = new Board();
  const solve = (): number => 1;
  const given = { list: [{ a: 1 }, null], board, solve, text: 'x', when: new Date(0), none: undefined };
  const copy = copyPlain(given);
  expect(copy).toEqual(given);
  expect(copy.list[0]).not.toBe(given.list[0]);
  expect([copy.board, copy.solve, copy.when]).toEqual([board, solve, given.when]);
  expect(copy.board).toBe(board);
  expect(copy.when).not.toBe(given.when);
});

it('copies maps, sets and bytes', () => {
  const given = {
    map: new Map([['a', [1]]]),
    set: new Set([{ b: 1 }]),
    bytes: Uint8Array.of(1),
    buffer: Buffer.from('x'),
  };
  const copy = copyPlain(given);
  expect(copy).toEqual(given);
  copy.map.get('a')?.push(2);
  copy.set.clear();
  copy.bytes[0] = 9;
  copy.buffer[0] = 9;
  expect([given.map.get('a'), given.set.size, given.bytes[0], given.buffer.toString()]).toEqual([[1], 1, 1, 'x']);
});

it('keeps a key that JSON allows and assignment does not', () => {
  const copy = copyPlain(JSON.parse('{"__proto__":{"a":1}}') as object);
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1}}');
});

it('copies a value that contains itself', () => {
  const given: { self?: unknown; list: unknown[] } = { list: [] };
  given.self = given;
  given.list.push(given.list);
  const copy = copyPlain(given);
  expect(copy.self).toBe(copy);
  expect(copy.list[0]).toBe(copy.list);
  expect(copy).not.toBe(given);
});
