/**
 * The weights of a model that no step changes. Vectors (norms and biases) are in single precision. Matrices, which are
 * nearly all of the weights, may be stored in fewer bits. Sampling and training read the same stored numbers.
 */

import { BackboneError } from '@agentjet/core';
import { toTensor, type Tensor } from '@agentjet/onnx';
import { float16ToFloat32, float32ToFloat16 } from '../../../../model-files/half-precision.js';
import type { Parameter, ParameterLayout } from '../model/parameter-layout.js';
import type { FloatArray } from '../optimizer/optimizer-memory.js';
import { tensorsOf, viewOf } from '../parameter-tensors.js';
import { blockSize, toBlocks, zeroCode } from './int8-blocks.js';

export type WeightFormat = 'float32' | 'float16' | 'int8';

const largestHalf = 65504;

export type FrozenWeights =
  | { readonly format: 'float32'; readonly values: FloatArray }
  | {
      readonly format: 'float16';
      /** Shape [decayedLength]: the bits of the matrices. */
      readonly halves: Uint16Array;
      /** Shape [length - decayedLength]. */
      readonly vectors: Float32Array;
    }
  | {
      readonly format: 'int8';
      /** Shape [decayedLength]. A weight is (code - zeroCode) times the scale of its block. */
      readonly codes: Uint8Array;
      /** Shape [decayedLength / blockSize]. */
      readonly scales: Float32Array;
      /** Shape [length - decayedLength]. */
      readonly vectors: Float32Array;
    };

/** The most floats of a parameter that are in memory while it is stored. It is a multiple of the block size. */
const pieceLength = 2 ** 20;

/**
 * Yields the floats of a parameter in pieces of that many elements, so that the model is never in memory as floats.
 */
export type ReadPieces = (parameter: Parameter, numValues: number) => AsyncIterable<Float32Array>;

/** Reads all parameters and stores them in the format. */
export async function readFrozenWeights(
  layout: ParameterLayout,
  format: WeightFormat,
  read: ReadPieces,
): Promise<FrozenWeights> {
  const { weights, store } = allocateWeights(layout, format);
  for (const parameter of layout.parameters) {
    let done = 0;
    for await (const piece of read(parameter, pieceLength)) {
      store(parameter, piece, done);
      done += piece.length;
    }
  }
  return weights;
}

/** Stores weights that are in memory, shape [length]. */
export function toFrozenWeights(layout: ParameterLayout, format: WeightFormat, values: Float32Array): FrozenWeights {
  const { weights, store } = allocateWeights(layout, format);
  for (const parameter of layout.parameters)
    store(parameter, values.subarray(parameter.offset, parameter.offset + parameter.size), 0);
  return weights;
}

type Allocated = {
  readonly weights: FrozenWeights;
  /** Stores elements of a parameter, from its element `done` on. */
  store(parameter: Parameter, data: Float32Array, done: number): void;
};

/** Returns weights of 0, and what stores others in their place. */
export function allocateWeights(layout: ParameterLayout, format: WeightFormat): Allocated {
  const { length, decayedLength } = layout;
  if (format === 'float32') {
    const values = new Float32Array(length);
    return { weights: { format, values }, store: ({ offset }, data, done) => values.set(data, offset + done) };
  }
  const vectors = new Float32Array(length - decayedLength);
  const storing =
    (storeMatrix: Allocated['store']): Allocated['store'] =>
    (parameter, data, done) =>
      isMatrix(parameter)
        ? storeMatrix(parameter, data, done)
        : vectors.set(data, parameter.offset - decayedLength + done);
  if (format === 'float16') {
    const halves = new Uint16Array(decayedLength);
    const store = storing(({ name, offset }, data, done) => {
      if (data.some((value) => !(Math.abs(value) <= largestHalf))) throw tooLargeForHalf(name);
      float32ToFloat16(data, halves.subarray(offset + done, offset + done + data.length));
    });
    return { weights: { format, halves, vectors }, store };
  }
  refuseUnevenBlocks(layout);
  const [codes, scales] = [new Uint8Array(decayedLength), new Float32Array(decayedLength / blockSize)];
  const store = storing(({ offset }, data, done) => {
    const [start, end] = [offset + done, offset + done + data.length];
    toBlocks(data, {
      codes: codes.subarray(start, end),
      scales: scales.subarray(start / blockSize, end / blockSize),
    });
  });
  return { weights: { format, codes, scales, vectors }, store };
}

export function isMatrix({ shape }: Pick<Parameter, 'shape'>): boolean {
  return shape.length === 2;
}

function refuseUnevenBlocks({ parameters }: ParameterLayout): void {
  const uneven = parameters.find((parameter) => isMatrix(parameter) && (parameter.shape[1] ?? 0) % blockSize !== 0);
  if (uneven === undefined) return;
  throw new BackboneError(
    'unsupported_model',
    `onnx.frozen_weights is int8, which needs matrices whose rows have a multiple of ${blockSize} numbers; "${uneven.name}" has ${uneven.shape[1]}. Use float16.`,
  );
}

function tooLargeForHalf(name: string): BackboneError {
  return new BackboneError(
    'unsupported_model',
    `onnx.frozen_weights is float16, whose largest number is ${largestHalf}; "${name}" has a larger one. Use int8 or float32.`,
  );
}

/** Returns the inputs from which a training graph reads the weights (see FrozenInputs). */
export function frozenFeeds(layout: ParameterLayout, weights: FrozenWeights): { readonly [name: string]: Tensor } {
  if (weights.format === 'float32') return tensorsOf(layout, weights.values);
  const feeds: { [name: string]: Tensor } = {};
  for (const parameter of layout.parameters) {
    const { name, offset, size, shape } = parameter;
    if (!isMatrix(parameter)) {
      feeds[name] = viewOf(weights.vectors, { ...parameter, offset: offset - layout.decayedLength });
      continue;
    }
    const numBlocks = size / blockSize;
    const stored =
      weights.format === 'float16'
        ? toTensor(weights.halves.subarray(offset, offset + size), shape)
        : toTensor(weights.codes.subarray(offset, offset + size), [numBlocks, blockSize]);
    for (const use of matrixUses) feeds[matrixInput(name, use)] = stored;
    if (weights.format === 'float16') continue;
    const firstBlock = offset / blockSize;
    feeds[scalesInput(name)] = toTensor(weights.scales.subarray(firstBlock, firstBlock + numBlocks), [numBlocks]);
    feeds[zeroCodesInput(numBlocks)] ??= toTensor(new Uint8Array(numBlocks).fill(zeroCode), [numBlocks]);
  }
  return feeds;
}

export const matrixUses = ['forward', 'backward', 'recomputed'] as const;

/**
 * Each use of a matrix has an input. If two products read one input, ONNX Runtime would convert the matrix once and
 * keep the result from the first product to the second.
 */
export function matrixInput(name: string, use: (typeof matrixUses)[number]): string {
  return `${name}, ${use}`;
}

export function scalesInput(name: string): string {
  return `${name}, scales`;
}

export function zeroCodesInput(numBlocks: number): string {
  return `${numBlocks} zero codes`;
}

/** Returns rows of a matrix, shape [rows.length, columns]. */
export function readMatrixRows(weights: FrozenWeights, { offset, shape }: Parameter, rows: Int32Array): Float32Array {
  const columns = shape[1] ?? 0;
  const found = new Float32Array(rows.length * columns);
  for (const [index, row] of rows.entries())
    readRange(weights, offset + row * columns, found.subarray(index * columns, (index + 1) * columns));
  return found;
}

/** Fills `found` with the weights from `start` on. */
function readRange(weights: FrozenWeights, start: number, found: Float32Array): void {
  if (weights.format === 'float32') {
    found.set(weights.values.subarray(start, start + found.length));
    return;
  }
  if (weights.format === 'float16') {
    float16ToFloat32(weights.halves.subarray(start, start + found.length), found);
    return;
  }
  for (let index = 0; index < found.length; index++) {
    const at = start + index;
    found[index] = ((weights.codes[at] ?? 0) - zeroCode) * (weights.scales[Math.floor(at / blockSize)] ?? 0);
  }
}

/** Returns all weights in single precision, as the graphs read them. */
export function toFloats({ length, decayedLength }: ParameterLayout, weights: FrozenWeights): FloatArray {
  if (weights.format === 'float32') return weights.values;
  const values = new Float32Array(length);
  readRange(weights, 0, values.subarray(0, decayedLength));
  values.set(weights.vectors, decayedLength);
  return values;
}

/** The bytes that the weights take. */
export function storedBytes(
  { length, decayedLength }: Pick<ParameterLayout, 'length' | 'decayedLength'>,
  format: WeightFormat,
): number {
  const bytesPerWeight = { float32: 4, float16: 2, int8: 1 + 4 / blockSize }[format];
  return bytesPerWeight * decayedLength + 4 * (length - decayedLength);
}
