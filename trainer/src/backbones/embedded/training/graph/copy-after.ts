/** Orders the computation of values. ONNX Runtime computes a value after those that it depends on. */

import { add, compare, toFloat } from './elementwise.js';
import { reshape } from './reshape.js';
import type { Value } from './value.js';

/** Copies a value in a node that waits for the others. It adds 0, which does not depend on their numbers, and has no gradient. */
export function copyAfter(value: Value, others: readonly Value[]): Value {
  const { graph } = value;
  if (others.length === 0) return value;
  const firsts = others.map(firstElement);
  const rank = Math.max(...firsts.map(({ shape }) => shape.length));
  const sum = reshape(graph.node('Sum', firsts, { shape: Array.from({ length: rank }, () => 1) }), []);
  return graph.withoutGradient(() => add(value, toFloat(compare('Greater', sum, sum))));
}

/** Returns a tensor of one element with the rank of the value. */
function firstElement(value: Value): Value {
  const { graph, shape } = value;
  if (shape.length === 0) return value;
  const axes = shape.map((_, axis) => axis);
  const bounds = [axes.map(() => 0), axes.map(() => 1), axes].map((each) => graph.integers(each));
  return graph.node('Slice', [value, ...bounds], { shape: shape.map(() => 1) });
}
