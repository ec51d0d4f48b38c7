import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { addDraws, areDraws, drawsOf, type Draw, type Draws } from './draws.js';

const indicesOf = (draws: Draws, wanted: number): readonly number[] =>
  draws
    .filter(({ epoch }) => epoch === wanted)
    .flatMap(({ ranges }) => ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at)));

it('contains each added draw once, in as few ranges as possible, for any order', () => {
  const random = createRandom(7);
  for (let round = 0; round < 200; round++) {
    const added: Draw[] = Array.from({ length: random.int(40) }, () => ({
      epoch: random.int(3),
      index: random.int(20),
    }));
    const draws = addDraws(addDraws([], added.slice(0, 10)), added.slice(10));
    expect(areDraws(draws)).toBe(true);
    for (const epoch of [0, 1, 2]) {
      const expected = new Set(added.filter((draw) => draw.epoch === epoch).map(({ index }) => index));
      expect(indicesOf(draws, epoch)).toEqual([...expected].sort((a, b) => a - b));
    }
    for (const { ranges } of draws)
      expect(ranges.every(([from], at) => at === 0 || from > (ranges[at - 1]?.[1] ?? 0))).toBe(true);
  }
});

it('of a state that has only a count, contains the first draws', () => {
  expect(drawsOf({ groupsDrawn: 0 })).toEqual([]);
  expect(drawsOf({ groupsDrawn: 12 })).toEqual([{ epoch: 0, ranges: [[0, 12]] }]);
  expect(drawsOf({ groupsDrawn: 12, draws: [{ epoch: 1, ranges: [[0, 2]] }] })).toEqual([
    { epoch: 1, ranges: [[0, 2]] },
  ]);
});

it.each([
  [7],
  [[{ epoch: 0 }]],
  [[{ epoch: -1, ranges: [] }]],
  [[{ epoch: 0, ranges: [[1]] }]],
  [[{ epoch: 0, ranges: [[2, 1]] }]],
  [
    [
      {
        epoch: 0,
        ranges: [
          [0, 2],
          [2, 3],
        ],
      },
    ],
  ],
  [
    [
      { epoch: 1, ranges: [] },
      { epoch: 0, ranges: [] },
    ],
  ],
])('%j is not a set of draws', (value) => {
  expect(areDraws(value)).toBe(false);
});
