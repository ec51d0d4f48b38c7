/** Root mean square normalization (Zhang and Sennrich 2019) over the last axis. */

import { add, multiply, reciprocal, square, squareRoot, subtract } from '../graph/elementwise.js';
import { lazily } from '../graph/lazily.js';
import { sumToShape } from '../graph/reduce.js';
import { withDim } from '../graph/value.js';
import type { Value } from '../graph/value.js';

/** value / sqrt(mean(value^2) + epsilon) * weight. */
export function rmsNorm(value: Value, weight: Value, epsilon: number): Value {
  const { graph } = value;
  const { output, inverse } = graph.withoutGradient(() => forward(value, weight, epsilon));
  const normalized = lazily(() => multiply(value, inverse));
  const ofValue = (gradient: Value): Value => {
    const weighted = multiply(gradient, weight);
    const projection = meanOfLast(multiply(weighted, normalized()));
    return multiply(subtract(weighted, multiply(normalized(), projection)), inverse);
  };
  const ofWeight = (gradient: Value): Value => sumToShape(multiply(gradient, normalized()), weight.shape);
  return graph.differentiable(output, [{ of: value, gradient: ofValue }, { of: weight, gradient: ofWeight }]);
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
  return graph.node('ReduceMean', [value, graph.integers([-1])], { shape: withDim(value.shape, -1, 1) }, { attributes: { keepdims: 1 } });
}
