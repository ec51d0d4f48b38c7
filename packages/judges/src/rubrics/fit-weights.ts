import { addUp, mean } from '@agentjet/core';
/** Keeps weights small if criteria are nearly the same. */
const ridge = 0.05;
const rounds = 500;
/** A criterion with a smaller share is dropped. */
const least = 0.02;

/**
 * Fits non-negative column weights with sum 1, so that the weighted rows come closest to `targets` up to a constant.
 * The method is ridge regression with bounds, by coordinate descent on centred columns. The weights are equal if no
 * column follows the targets.
 */
export function fitWeights(rows: readonly (readonly number[])[], targets: readonly number[]): readonly number[] {
  const numColumns = rows[0]?.length ?? 0;
  const columns = Array.from({ length: numColumns }, (_, at) => centre(rows.map((row) => row[at] ?? 0)));
  const wanted = centre(targets);
  const weights = Array.from({ length: numColumns }, () => 0);
  for (let round = 0; round < rounds; round++) {
    columns.forEach((column, at) => {
      const rest = wanted.map(
        (value, row) =>
          value - sumOf(columns, (each, other) => (other === at ? 0 : (weights[other] ?? 0) * (each[row] ?? 0))),
      );
      const size = dot(column, column) + ridge;
      weights[at] = Math.max(0, dot(column, rest) / size);
    });
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= 1e-9) return weights.map(() => 1 / numColumns);
  const shares = weights.map((weight) => (weight / total < least ? 0 : weight));
  const left = addUp(shares);
  return shares.map((share) => share / left);
}

function centre(values: readonly number[]): readonly number[] {
  const middle = mean(values);
  return values.map((value) => value - middle);
}

const dot = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);

const sumOf = <T>(items: readonly T[], term: (item: T, at: number) => number): number =>
  items.reduce((sum, item, at) => sum + term(item, at), 0);
