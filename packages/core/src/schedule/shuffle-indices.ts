import { createRandom } from '../random.js';

/** The numbers from 0 up to `count` in random order, the same for the same seed (Fisher and Yates). Shape [count]. */
export function shuffleIndices(count: number, seed: number): Uint32Array {
  const random = createRandom(seed);
  const indices = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const pick = random.int(last + 1);
    const picked = indices[pick] ?? 0;
    indices[pick] = indices[last] ?? 0;
    indices[last] = picked;
  }
  return indices;
}
