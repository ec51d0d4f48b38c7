import type { Encoding, RowData } from './row-data.js';

/** A row, and the coefficient of each of its targets, shape [T - 1]. */
export type CoefficientRow = { readonly ids: Int32Array; readonly coefficients: Float64Array };

/**
 * Encodes rows so that their gradient on a server of that encoding is the sum over targets of -coefficient * dlogprob.
 * A server that averages first over a row's targets and then over a step's rows gets importance sampling. The behaviour
 * logprobs are the row's own logprobs, so the ratio is 1, and the coefficients are multiplied by both counts. Pass all
 * rows of the step, with the `logprobs` that `forward` returned for them.
 */
export function encodeRows(
  rows: readonly CoefficientRow[],
  encoding: Encoding,
  logprobs: readonly ArrayLike<number>[] | undefined,
): RowData[] {
  if (encoding === 'sums') return rows.map(({ ids, coefficients }) => ({ ids, inputs: { weights: coefficients } }));
  return rows.map(({ ids, coefficients }, index) => ({
    ids,
    inputs: {
      logprobs: logprobs?.[index] ?? [],
      advantages: coefficients.map((value) => value * coefficients.length * rows.length),
    },
  }));
}
