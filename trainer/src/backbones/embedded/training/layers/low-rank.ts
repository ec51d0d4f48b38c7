import { gemm } from '../graph/matmul.js';
import type { Value } from '../graph/value.js';

/** The adapter of a matrix: A [rank, in] and B [out, rank]. */
export type LowRank = { readonly a: Value; readonly b: Value; readonly scale: number };

/** Returns output + scale B A input, for tokens in rows. If B is 0, the result equals `output` to the last bit. */
export function addLowRank(output: Value, input: Value, { a, b, scale }: LowRank): Value {
  const narrow = gemm(input, a, { transposeRight: true });
  return gemm(narrow, b, { transposeRight: true, scale, bias: output });
}
