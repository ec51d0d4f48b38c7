/**
 * The optimizer's passes as WebAssembly with SIMD. Lengths are multiples of 4 floats.
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
  store,
  types,
} from '../../wasm/assemble.js';
import type { Code, WasmFunction } from '../../wasm/assemble.js';
import type { WasmMemory } from '../../wasm/web-assembly.js';

export type Kernels = {
  /** Runs AdamW over `length` floats at the four addresses. */
  readonly update: (
    parameters: number,
    gradients: number,
    firstMoments: number,
    secondMoments: number,
    length: number,
    beta1: number,
    oneMinusBeta1: number,
    beta2: number,
    oneMinusBeta2: number,
    gradientScale: number,
    decay: number,
    stepSize: number,
    epsilon: number,
  ) => void;
  /** into[i] += from[i]. */
  readonly add: (into: number, from: number, length: number) => void;
  /** Sums in double precision. */
  readonly sumOfSquares: (from: number, length: number) => number;
};

const [add32, subtract32, divide32, root32] = [0xe4, 0xe5, 0xe7, 0xe3].map(simd) as [Code, Code, Code, Code];
const [add64, multiply64, promoteLow] = [0xf0, 0xf2, 0x5f].map(simd) as [Code, Code, Code];
const lane64 = (lane: number): Code => [...simd(0x21), lane];
/** Moves the upper two floats to the lower half. */
const upperHalf: Code = [...simd(0x0d), 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

/** Runs the body for every four floats. Each run adds 16 bytes to the addresses and subtracts 4 from the counter. */
function forEachVector(counter: number, addresses: readonly number[], body: Code): Code {
  const isDone: Code = [...get(counter), 0x41, 0, 0x4c];
  const countDown: Code = [...get(counter), 0x41, 4, 0x6b, ...set(counter)];
  return loopUntil(isDone, [...body, ...addresses.flatMap((address) => advance(address, 16)), ...countDown]);
}

/** Locals: 0-3 addresses, 4 length, 5-12 scalars; then vectors: 13-20 the scalars, 21 gradient, 22 first, 23 second. */
function updateBody(): Code {
  const scalars = [5, 6, 7, 8, 9, 10, 11, 12];
  const [beta1, oneMinusBeta1, beta2, oneMinusBeta2, scale, decay, stepSize, epsilon] = scalars.map((scalar) =>
    get(scalar + 8),
  ) as [Code, Code, Code, Code, Code, Code, Code, Code];
  const [gradient, first, second] = [21, 22, 23];
  const blend = (old: number, keep: Code, fresh: Code): Code => [
    ...load(old),
    ...keep,
    ...multiply32,
    ...fresh,
    ...multiply32,
    ...add32,
  ];
  const step: Code = [
    ...stepSize,
    ...get(first),
    ...multiply32,
    ...get(second),
    ...root32,
    ...epsilon,
    ...add32,
    ...divide32,
  ];
  return [
    ...scalars.flatMap((scalar) => [...get(scalar), ...splat32, ...set(scalar + 8)]),
    ...forEachVector(
      4,
      [0, 1, 2, 3],
      [
        ...load(1),
        ...scale,
        ...multiply32,
        ...set(gradient),
        ...blend(2, beta1, [...get(gradient), ...oneMinusBeta1]),
        ...set(first),
        ...blend(3, beta2, [...get(gradient), ...get(gradient), ...multiply32, ...oneMinusBeta2]),
        ...set(second),
        ...store(2, get(first)),
        ...store(3, get(second)),
        ...store(0, [...load(0), ...decay, ...multiply32, ...step, ...subtract32]),
      ],
    ),
  ];
}

function addBody(): Code {
  return forEachVector(2, [0, 1], store(0, [...load(0), ...load(1), ...add32]));
}

/** Locals: 0 address, 1 length; vectors: 2 sum, 3 low pair, 4 high pair. */
function sumOfSquaresBody(): Code {
  const [sum, low, high] = [2, 3, 4];
  const addSquare = (pair: number): Code => [
    ...get(sum),
    ...get(pair),
    ...get(pair),
    ...multiply64,
    ...add64,
    ...set(sum),
  ];
  return [
    ...forEachVector(
      1,
      [0],
      [
        ...load(0),
        ...promoteLow,
        ...set(low),
        ...load(0),
        ...load(0),
        ...upperHalf,
        ...promoteLow,
        ...set(high),
        ...addSquare(low),
        ...addSquare(high),
      ],
    ),
    ...get(sum),
    ...lane64(0),
    ...get(sum),
    ...lane64(1),
    0xa0,
  ];
}

/** Returns undefined if the machine or the runtime has no SIMD. */
export function compileKernels(memory: WasmMemory): Kernels | undefined {
  const { i32, f32, f64 } = types;
  const functions: readonly WasmFunction[] = [
    {
      name: 'update',
      parameters: [i32, i32, i32, i32, i32, f32, f32, f32, f32, f32, f32, f32, f32],
      results: [],
      vectors: 11,
      body: updateBody(),
    },
    { name: 'add', parameters: [i32, i32, i32], results: [], vectors: 0, body: addBody() },
    { name: 'sumOfSquares', parameters: [i32, i32], results: [f64], vectors: 3, body: sumOfSquaresBody() },
  ];
  return compileFunctions(functions, memory) as Kernels | undefined;
}
