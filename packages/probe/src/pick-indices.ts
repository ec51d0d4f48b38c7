import { createRandom } from '@agentjet/core';

/**
 * Chooses `count` of the numbers below `size`, ascending: one at random from each of `count` parts of equal length. Files are
 * often sorted by kind or by difficulty, and the parts then contain each kind as often as the file does. A regular
 * distance would miss kinds that alternate.
 */
export function pickIndices(size: number, count: number, seed: number): readonly number[] {
  const random = createRandom(seed);
  const number = Math.min(size, count);
  return Array.from({ length: number }, (_, part) => {
    const [from, to] = [Math.floor((part * size) / number), Math.floor(((part + 1) * size) / number)];
    return from + random.int(to - from);
  });
}
