/**
 * The core of grouped-query attention. The query heads that share a key head become rows of one product, so keys and
 * values are never repeated. The backward pass uses rowsum(P * dP) = rowsum(dO * O), and computes dP - delta as one
 * product [dO, -delta] [V, 1]^T. It therefore needs only one pass over the T x S matrix.
 */

import { add, multiply, negate } from '../graph/elementwise.js';
import { shareResult } from '../graph/share-result.js';
import { matmul } from '../graph/matmul.js';
import { expand, sum } from '../graph/reduce.js';
import { concat, reshape, transpose } from '../graph/reshape.js';
import { softmax } from '../graph/softmax.js';
import { withDim } from '../graph/value.js';
import type { Shape, Value } from '../graph/value.js';

export type AttentionInputs = {
  /** Shape [B, numKvHeads, group * T, headDim]. */
  readonly query: Value;
  /** Shape [B, numKvHeads, S, headDim]. */
  readonly key: Value;
  /** Shape [B, numKvHeads, S, headDim]. */
  readonly value: Value;
  /** Added to the scores: 0 if visible, very negative otherwise. Broadcasts to `scoreShape`. */
  readonly bias: Value;
  /** [B, numHeads, T, S], or any split of the rows that the bias broadcasts to. */
  readonly scoreShape: Shape;
  readonly scale: number;
};

/** Shape [B, numKvHeads, group * T, headDim]. */
export function attention({ query, key, value, bias, scoreShape, scale }: AttentionInputs): Value {
  const { graph } = query;
  const { probabilities, output } = graph.withoutGradient(() => {
    const scores = matmul(query, key, { transposeRight: true, scale });
    const probabilities = reshape(softmax(add(reshape(scores, scoreShape), bias)), scores.shape);
    return { probabilities, output: matmul(probabilities, value) };
  });
  const scoreGradient = shareResult((gradient: Value) => multiply(centered(gradient, output, value), probabilities));
  return graph.differentiable(output, [
    { of: query, gradient: (gradient) => matmul(scoreGradient(gradient), key, { scale }) },
    { of: key, gradient: (gradient) => transposedProduct(scoreGradient(gradient), query, scale) },
    { of: value, gradient: (gradient) => transposedProduct(probabilities, gradient, 1) },
  ]);
}

/**
 * Computes scores^T rows as (rows^T scores)^T. With the wide matrix on the right, the product takes two thirds of the
 * time. The transpose costs nothing, because it is merged with the transpose that follows.
 */
function transposedProduct(scores: Value, rows: Value, scale: number): Value {
  return transpose(matmul(rows, scores, { transposeLeft: true, scale }), [0, 1, 3, 2]);
}

/** dP - delta, with dP = dO V^T and delta = rowsum(dO * O). */
function centered(gradient: Value, output: Value, value: Value): Value {
  const delta = sum(multiply(gradient, output), [-1]);
  const ones = expand(value.graph.scalar(1), withDim(value.shape, -1, 1));
  return matmul(concat([gradient, negate(delta)], -1), concat([value, ones], -1), { transposeRight: true });
}
