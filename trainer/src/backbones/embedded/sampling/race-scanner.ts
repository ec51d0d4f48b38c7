/**
 * Skips tokens that cannot win the race of the sampler, four at a time. It computes the same hashes as the sampler. Its
 * comparison is in single precision and rounds in favour of the token, so it never skips a winner.
 */

import {
  advance,
  compileFunctions,
  get,
  load,
  loopUntil,
  multiply32,
  set,
  simd,
  splat32,
  types,
} from '../wasm/assemble.js';
import type { Code } from '../wasm/assemble.js';
import { webAssembly } from '../wasm/web-assembly.js';

/** The constants of the sampler's hash, and the factor of a token id before it is hashed. */
export const hashConstants = { idFactor: 0x9e3779b1, first: 0x85ebca6b, second: 0xc2b2ae35 };

/**
 * Returns the first id from `from` on, rounded down to a multiple of 4, among whose four tokens one may ring before
 * `latest`, or the number of tokens or more.
 */
export type Scan = (from: number, latest: number) => number;

type Exports = {
  readonly scan: (address: number, end: number, key: number, bound: number, id: number) => number;
};
type Scanner = { readonly probabilities: Float32Array; readonly exports: Exports };

const pageBytes = 65536;
/** More than the rounding errors of single precision. */
const roundedUp = 1 + 2 ** -20;
let opened: Scanner | null | undefined;

/** Copies the probabilities. Returns undefined if the machine or the runtime has no SIMD. */
export function scanRace(probabilities: Float32Array, key: number): Scan | undefined {
  const { length } = probabilities;
  const size = 4 * Math.ceil(length / 4);
  if (opened === undefined || (opened !== null && opened.probabilities.length < size)) opened = openScanner(size);
  if (opened === null) return undefined;
  const { probabilities: copy, exports } = opened;
  copy.set(probabilities);
  copy.fill(0, length, size);
  return (from, latest) => {
    const start = from - (from % 4);
    return exports.scan(4 * start, 4 * size, key, latest * 2 ** 32 * roundedUp, start) / 4;
  };
}

function openScanner(size: number): Scanner | null {
  const pages = Math.ceil((4 * size) / pageBytes);
  const memory = new webAssembly.Memory({ initial: pages, maximum: pages });
  const { i32, f32 } = types;
  const parameters = [i32, i32, i32, f32, i32];
  const exports = compileFunctions(
    [{ name: 'scan', parameters, results: [i32], vectors: 4, body: scanBody() }],
    memory,
  );
  return exports === undefined ? null : { probabilities: new Float32Array(memory.buffer), exports: exports as Exports };
}

/** Locals: 0 address, 1 end, 2 key, 3 bound, 4 id; then vectors: 5 ids times their factor, 6 keys, 7 bounds, 8 hashes. */
function scanBody(): Code {
  const [address, end, key, bound, id, steps, keys, bounds, hashes] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const [splatInteger, addIntegers, multiplyIntegers] = [simd(0x11), simd(0xae), simd(0xb5)];
  const [xor, not, isAnyTrue, toFloats, isLess] = [simd(0x51), simd(0x4d), simd(0x53), simd(0xfb), simd(0x43)];
  const isAtEnd: Code = [...get(address), ...get(end), 0x4f];
  const xorShifted = (bits: number): Code => [...get(hashes), ...get(hashes), 0x41, bits, ...simd(0xad), ...xor];
  const { idFactor, first, second } = hashConstants;
  const hash: Code = [
    ...get(steps),
    ...get(keys),
    ...xor,
    ...set(hashes),
    ...xorShifted(16),
    ...constant(first),
    ...multiplyIntegers,
    ...set(hashes),
    ...xorShifted(13),
    ...constant(second),
    ...multiplyIntegers,
    ...set(hashes),
    ...xorShifted(16),
  ];
  // A token can ring before `latest` only if 1 - u < latest * probability, where u is about hash / 2^32.
  const scaled: Code = [...load(address), ...get(bounds), ...multiply32];
  const mayWin: Code = [...hash, ...not, ...toFloats, ...scaled, ...isLess, ...isAnyTrue];
  const nextSteps: Code = [...get(steps), ...constant(Math.imul(4, idFactor)), ...addIntegers, ...set(steps)];
  const ids: Code = [...get(id), ...splatInteger, ...constant(0, 1, 2, 3), ...addIntegers];
  return [
    ...get(key),
    ...splatInteger,
    ...set(keys),
    ...get(bound),
    ...splat32,
    ...set(bounds),
    ...ids,
    ...constant(idFactor),
    ...multiplyIntegers,
    ...set(steps),
    ...loopUntil(isAtEnd, [...mayWin, 0x0d, 1, ...nextSteps, ...advance(address, 16)]),
    ...get(address),
  ];
}

/** A vector of four integers, or of one integer four times. */
function constant(...values: readonly [number] | readonly [number, number, number, number]): Code {
  const four = values.length === 4 ? values : [values[0], values[0], values[0], values[0]];
  return [...simd(0x0c), ...new Uint8Array(Int32Array.from(four).buffer)];
}
