/** Compares a graph's gradients with central differences of the same graph's loss. It is only for tests. */

import { openSession, toTensor } from '@agentjet/onnx';
import { createRandom } from '@agentjet/core';
import { multiply } from '../backbones/embedded/training/graph/elementwise.js';
import { Graph } from '../backbones/embedded/training/graph/graph.js';
import type { GraphOptions } from '../backbones/embedded/training/graph/graph.js';
import { sumAll } from '../backbones/embedded/training/graph/reduce.js';
import type { Value } from '../backbones/embedded/training/graph/value.js';

export type GradientCase = {
  /** Shapes of the differentiable inputs. */
  readonly shapes: readonly (readonly number[])[];
  /** int32 inputs, which are fed unchanged. */
  readonly integers?: readonly { readonly data: readonly number[]; readonly shape: readonly number[] }[];
  readonly build: (graph: Graph, inputs: readonly Value[], integers: readonly Value[]) => Value;
  /** Maps a uniform number in (-1, 1) to an input element. Defaults to the identity. */
  readonly element?: (uniform: number) => number;
  readonly options?: GraphOptions;
};

/** Returns an input of a case by its index. Throws Error if the case has fewer. */
export function inputAt(values: readonly Value[], index: number): Value {
  const value = values[index];
  if (value === undefined) throw new Error(`The case has no input ${index}.`);
  return value;
}

/** Returns the largest |gradient - difference quotient| over the largest quotient of the same input. */
export async function gradientError(testCase: GradientCase): Promise<number> {
  const {
    shapes,
    integers = [],
    options = { floatType: 'float64' },
    element = (uniform: number) => uniform,
  } = testCase;
  const random = createRandom(7);
  const draw = (shape: readonly number[]) => {
    const drawn = Float64Array.from({ length: product(shape) }, () => element(random.next() * 2 - 1));
    return options.floatType === 'float64' ? drawn : Float32Array.from(drawn);
  };
  const graph = buildLoss(testCase, options, draw);
  const session = await openSession(graph.encode(), { threads: 1, canFuse: options.floatType !== 'float64' });
  const inputs = shapes.map(draw);
  const feeds = Object.fromEntries([
    ...inputs.map((data, index) => [`input${index}`, toTensor(data, shapes[index] ?? [])] as const),
    ...integers.map(({ data, shape }, index) => [`integer${index}`, toTensor(Int32Array.from(data), shape)] as const),
  ]);
  const run = async () => session.run(feeds);
  const loss = async () => Number((await run())['loss']?.data[0]);
  const gradients = await run();
  let worst = 0;
  for (const [index, data] of inputs.entries()) {
    const gradient = gradients[`gradient${index}`]?.data as ArrayLike<number>;
    worst = Math.max(worst, await inputError(data, gradient, loss));
  }
  await session.release();
  return worst;
}

function buildLoss(
  { shapes, integers = [], build }: GradientCase,
  options: GraphOptions,
  draw: (shape: readonly number[]) => Float32Array | Float64Array,
): Graph {
  const graph = new Graph(options);
  const inputs = shapes.map((shape, index) => graph.parameter(`input${index}`, shape));
  const output = build(
    graph,
    inputs,
    integers.map(({ shape }, index) => graph.input(`integer${index}`, shape, 'int32')),
  );
  const shape = output.shape.map(Number);
  const loss = sumAll(multiply(output, graph.initializer(shape, draw(shape))));
  const gradients = graph.backward(loss, inputs);
  graph.output('loss', loss);
  gradients.forEach((gradient, index) => graph.output(`gradient${index}`, gradient));
  return graph;
}

async function inputError(
  data: Float32Array | Float64Array,
  gradient: ArrayLike<number>,
  loss: () => Promise<number>,
): Promise<number> {
  const step = data instanceof Float64Array ? 1e-5 : 1e-2;
  let [error, scale] = [0, 1e-3];
  for (let index = 0; index < data.length; index++) {
    const quotient = await differenceQuotient(data, index, { step, loss });
    error = Math.max(error, Math.abs(quotient - Number(gradient[index])));
    scale = Math.max(scale, Math.abs(quotient));
  }
  return error / scale;
}

async function differenceQuotient(
  data: Float32Array | Float64Array,
  index: number,
  { step, loss }: { readonly step: number; readonly loss: () => Promise<number> },
): Promise<number> {
  const original = Number(data[index]);
  data[index] = original + step;
  const above = await loss();
  data[index] = original - step;
  const below = await loss();
  data[index] = original;
  return (above - below) / (2 * step);
}

function product(shape: readonly number[]): number {
  return shape.reduce((total, dim) => total * dim, 1);
}
