import type { Sample } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { drawCopies } from './draw-copies.js';

const numTokens = 600;

function take(count: number, seed: number): readonly Sample[] {
  const copies = drawCopies({ numTokens, seed });
  return Array.from({ length: count }, () => copies.next().value);
}

/** Returns whether the token and the one before it were neighbours earlier in the row. */
function isRepetition(ids: Int32Array, index: number): boolean {
  return ids.subarray(1, index).some((id, before) => id === ids[index] && ids[before] === ids[index - 1]);
}

describe('copying', () => {
  it('asks for nothing that is not earlier in the row, after the same token', () => {
    for (const { ids, lossMask } of take(50, 1)) {
      const asked = [...ids.keys()].filter((index) => lossMask[index] === 1);
      expect(asked.length).toBeGreaterThan(0);
      expect(asked.filter((index) => !isRepetition(ids, index))).toEqual([]);
    }
  });

  it('shows all tokens it may, and no others', () => {
    const shown = new Set(take(500, 2).flatMap(({ ids }) => [...ids]));
    expect([...shown].every((id) => id >= 0 && id < numTokens)).toBe(true);
    expect(shown.size).toBe(numTokens);
  });

  it('is the same for the same seed, and never the same row twice', () => {
    expect(take(5, 3)).toEqual(take(5, 3));
    const rows = take(200, 3).map(({ ids }) => ids.join(' '));
    expect(new Set(rows).size).toBe(rows.length);
  });
});
