/**
 * The flat buffers of a model in training, and the three passes over them. If the buffers fit, they are in WebAssembly
 * memory, and the passes use SIMD. Buffers of more than 4 GiB or in double precision are plain arrays. Both give the
 * same results.
 */

import { compileKernels } from './wasm-kernels.js';
import { webAssembly } from '../../wasm/web-assembly.js';
import type { WasmMemory } from '../../wasm/web-assembly.js';

export type FloatArray = Float32Array | Float64Array;

export type AdamWCoefficients = {
  readonly beta1: number;
  readonly beta2: number;
  /** The factor of every gradient, from clipping the global norm. */
  readonly gradientScale: number;
  /** 1 - learningRate * weightDecay. */
  readonly decay: number;
  /** learningRate * sqrt(1 - beta2^t) / (1 - beta1^t). */
  readonly stepSize: number;
  /** epsilon * sqrt(1 - beta2^t). */
  readonly epsilon: number;
};

/** All buffers have the same length, a multiple of 4. Their addresses never change. */
export interface OptimizerMemory {
  readonly parameters: FloatArray;
  readonly gradients: FloatArray;
  readonly firstMoments: FloatArray;
  readonly secondMoments: FloatArray;
  /**
   * Gradients of one micro-batch, before they are added to `gradients`. The buffer takes no physical memory until it is
   * written.
   */
  readonly partialGradients: FloatArray;
  /** Updates elements [start, end). Both numbers are multiples of 4. */
  update(range: { readonly start: number; readonly end: number }, coefficients: AdamWCoefficients): void;
  addPartialGradients(): void;
  sumOfGradientSquares(): number;
}

const numBuffers = 5;
const pageBytes = 65536;
const maxPages = 65536;
/** The first address. Address 0 is not used, and a multiple of 64 does not split cache lines. */
const firstByte = 64;

export function createOptimizerMemory(length: number, precision: 'float32' | 'float64' = 'float32'): OptimizerMemory {
  const pages = Math.ceil((firstByte + numBuffers * length * 4) / pageBytes);
  if (precision === 'float64' || pages > maxPages) return createPlainMemory(length, precision);
  return createWasmMemory(length, pages) ?? createPlainMemory(length, precision);
}

/** Returns undefined if the address space or SIMD is missing. */
export function createWasmMemory(
  length: number,
  pages = Math.ceil((firstByte + numBuffers * length * 4) / pageBytes),
): OptimizerMemory | undefined {
  const memory = reserve(pages);
  const kernels = memory && compileKernels(memory);
  if (memory === undefined || kernels === undefined) return undefined;
  const address = (buffer: number, element = 0): number => firstByte + (buffer * length + element) * 4;
  const view = (buffer: number): Float32Array => new Float32Array(memory.buffer, address(buffer), length);
  return {
    parameters: view(0),
    gradients: view(1),
    firstMoments: view(2),
    secondMoments: view(3),
    partialGradients: view(4),
    update: ({ start, end }, { beta1, beta2, gradientScale, decay, stepSize, epsilon }) =>
      kernels.update(
        address(0, start),
        address(1, start),
        address(2, start),
        address(3, start),
        end - start,
        beta1,
        1 - beta1,
        beta2,
        1 - beta2,
        gradientScale,
        decay,
        stepSize,
        epsilon,
      ),
    addPartialGradients: () => kernels.add(address(1), address(4), length),
    sumOfGradientSquares: () => kernels.sumOfSquares(address(1), length),
  };
}

function reserve(pages: number): WasmMemory | undefined {
  try {
    return new webAssembly.Memory({ initial: pages, maximum: pages });
  } catch {
    return undefined; // The caller uses plain arrays instead.
  }
}

export function createPlainMemory(length: number, precision: 'float32' | 'float64'): OptimizerMemory {
  const allocate = (): FloatArray => (precision === 'float32' ? new Float32Array(length) : new Float64Array(length));
  const memory = {
    parameters: allocate(),
    gradients: allocate(),
    firstMoments: allocate(),
    secondMoments: allocate(),
    partialGradients: allocate(),
  };
  return {
    ...memory,
    update: (range, coefficients) => updatePlain(memory, range, coefficients),
    addPartialGradients: () => {
      const { gradients, partialGradients } = memory;
      for (let index = 0; index < length; index++)
        gradients[index] = at(gradients, index) + at(partialGradients, index);
    },
    sumOfGradientSquares: () => sumOfSquares(memory.gradients),
  };
}

type Moments = Pick<OptimizerMemory, 'parameters' | 'gradients' | 'firstMoments' | 'secondMoments'>;

/** Makes one step of AdamW (Loshchilov and Hutter 2019), with the bias corrections folded into stepSize and epsilon. */
function updatePlain(
  { parameters, gradients, firstMoments, secondMoments }: Moments,
  range: { readonly start: number; readonly end: number },
  coefficients: AdamWCoefficients,
): void {
  const { beta1, beta2, gradientScale, decay, stepSize, epsilon } = coefficients;
  for (let index = range.start; index < range.end; index++) {
    const gradient = at(gradients, index) * gradientScale;
    const first = at(firstMoments, index) * beta1 + gradient * (1 - beta1);
    const second = at(secondMoments, index) * beta2 + gradient * gradient * (1 - beta2);
    firstMoments[index] = first;
    secondMoments[index] = second;
    parameters[index] = at(parameters, index) * decay - (stepSize * first) / (Math.sqrt(second) + epsilon);
  }
}

function sumOfSquares(array: FloatArray): number {
  let sum = 0;
  for (let index = 0; index < array.length; index++) sum += at(array, index) ** 2;
  return sum;
}

/** Returns an element. It always exists, because the loops above stay inside their arrays. */
function at(array: FloatArray, index: number): number {
  return array[index] as number;
}
