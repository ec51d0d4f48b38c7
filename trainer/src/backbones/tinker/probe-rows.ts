import type { CoefficientRow } from './encode-rows.js';

/**
 * Rows whose gradients must be equal, opposite or different. They have two lengths, and a request never has more than
 * two rows, because JAX compiles each shape.
 */
export type ProbeRows = {
  readonly short: CoefficientRow;
  /** Continues `short` with coefficients of zero, so the gradient is the same. */
  readonly long: CoefficientRow;
  /** Trains only the last token of `short`. */
  readonly last: CoefficientRow;
  /**
   * Ends with another token than `last`. Its gradient must differ. It is equal if a server applies the coefficient of
   * that token to another token.
   */
  readonly other: CoefficientRow;
};

/** Returns coefficients of both signs, with a sum above 0, of which no two neighbours are equal. */
const coefficients = Float64Array.of(0.5, -0.25, 1, 0.75, -0.5, 1, -0.25, 0.5);
const longLength = 13;

export function createProbeRows(vocabSize: number): ProbeRows {
  const ids = Int32Array.from({ length: longLength }, (_, index) => (index * 7 + (index % 3)) % vocabSize);
  const padded = new Float64Array(longLength - 1);
  padded.set(coefficients);
  const shortIds = ids.slice(0, coefficients.length + 1);
  const otherIds = shortIds.slice();
  const end = shortIds.length - 1;
  otherIds[end] = ((shortIds[end] ?? 0) + Math.max(1, Math.floor(vocabSize / 2))) % vocabSize; // of another kind
  const lastAlone = Float64Array.from(coefficients, (_, at) => (at === coefficients.length - 1 ? 1 : 0));
  return {
    short: { ids: shortIds, coefficients },
    long: { ids, coefficients: padded },
    last: { ids: shortIds, coefficients: lastAlone },
    other: { ids: otherIds, coefficients: lastAlone },
  };
}

export function scaled(row: CoefficientRow, factor: number): CoefficientRow {
  return { ids: row.ids, coefficients: row.coefficients.map((value) => value * factor) };
}
