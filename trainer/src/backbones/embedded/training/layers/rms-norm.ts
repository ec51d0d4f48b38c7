/** Root mean square normalization (Zhang and Sennrich 2019) over the last axis. */

import { add, divide, multiply, reciprocal, square, squareRoot, subtract } from '../graph/elementwise.js';
import { copyAfter } from '../graph/copy-after.js';
import { recomputable } from '../graph/compute-again.js';
import { shareResult } from '../graph/share-result.js';
import { gemm } from '../graph/matmul.js';
import { reshape } from '../graph/reshape.js';
import { sizeAt, withDim } from '../graph/value.js';
import type { Value } from '../graph/value.js';

/**
 * value / sqrt(mean(value^2) + epsilon) * weight, of rows [N, D]. The backward pass computes sums along rows and
 * columns as products with vectors. Such a product reads the matrix once and writes only a vector.
 */
export function rmsNorm(value: Value, weight: Value, epsilon: number): Value {
  const { graph } = value;
  const { output, inverse } = graph.withoutGradient(() => forward(value, weight, epsilon));
  const weightedInput = shareResult((gradient: Value) => multiply(gradient, value));
  const size = sizeAt(weight.shape, 0);
  const ofValue = (gradient: Value): Value => {
    const projection = gemm(weightedInput(gradient), reshape(weight, [size, 1]));
    const along = multiply(value, multiply(projection, divide(square(inverse), size)));
    return multiply(subtract(multiply(gradient, weight), along), inverse);
  };
  const ofWeight = (gradient: Value): Value =>
    reshape(gemm(inverse, weightedInput(gradient), { transposeLeft: true }), [size]);
  recomputable(output, (gradient) => multiply(multiply(value, copyAfter(inverse, [gradient])), weight));
  return graph.differentiable(output, [
    { of: value, gradient: ofValue },
    { of: weight, gradient: ofWeight },
  ]);
}

function forward(value: Value, weight: Value, epsilon: number): { readonly output: Value; readonly inverse: Value } {
  const { graph } = value;
  if (graph.isFused) {
    const attributes = { axis: -1, epsilon: { float: epsilon }, stash_type: 1 };
    const outputs = [value, { shape: withDim(value.shape, -1, 1) }] as const;
    const [output, inverse] = graph.nodes('SimplifiedLayerNormalization', [value, weight], outputs, { attributes });
    return { output, inverse };
  }
  const inverse = reciprocal(squareRoot(add(meanOfLast(square(value)), epsilon)));
  return { output: multiply(multiply(value, inverse), weight), inverse };
}

function meanOfLast(value: Value): Value {
  const { graph } = value;
  return graph.node(
    'ReduceMean',
    [value, graph.integers([-1])],
    { shape: withDim(value.shape, -1, 1) },
    { attributes: { keepdims: 1 } },
  );
}
