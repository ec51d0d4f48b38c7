import { computedAgain } from '../graph/compute-again.js';
import { gemm } from '../graph/matmul.js';
import type { Value } from '../graph/value.js';

/** The adapter of a matrix: A [rank, in] and B [out, rank]. */
export type LowRank = { readonly a: Value; readonly b: Value; readonly scale: number };

/**
 * Returns output + scale B A input, for tokens in rows. If B is 0, the result equals `output` to the last bit. The
 * gradient of A computes the input again if it can, because nothing else in the backward pass needs the input.
 */
export function addLowRank(output: Value, input: Value, { a, b, scale }: LowRank): Value {
  const { graph } = input;
  const product = graph.withoutGradient(() => gemm(input, a, { transposeRight: true }));
  const narrow = graph.differentiable(product, [
    { of: input, gradient: (gradient) => gemm(gradient, a) },
    { of: a, gradient: (gradient) => gemm(gradient, computedAgain(input, gradient), { transposeLeft: true }) },
  ]);
  return gemm(narrow, b, { transposeRight: true, scale, bias: output });
}
