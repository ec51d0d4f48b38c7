/** Every random choice of the system comes from one run seed through `deriveSeed`. */

export type Random = {
  /** Returns a uniform number in [0, 1). */
  next(): number;
  /** Returns a uniform integer in [0, limit). */
  int(limit: number): number;
};

/** Mulberry32 (T. Ettinger) has 32 bits of state and period 2^32. It suits sampling and shuffling, but not secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return { next, int: (limit) => Math.floor(next() * limit) };
}

/** Derives a 32-bit seed from a run seed and names of its purpose (FNV-1a over the parts, then one avalanche). */
export function deriveSeed(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  const text = parts.length === 1 ? String(parts[0]) : parts.join('\u0000');
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at) ?? 0;
    if (point > 0xffff) at++; // two code units
    hash = Math.imul(hash ^ point, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns the numbers from 0 up to `count` in random order, the same for the same seed (Fisher and Yates). Shape [count]. */
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
