import Fraction from 'fraction.js';
import { evaluateExactly, evaluateNearly, subexpressionsOf, type Expression } from '../arithmetic/expression.js';

/**
 * Treats two formulas as equal if they have equal values at several points. Different polynomials of degree d agree at
 * one random point from a set of size s with a probability of at most d/s (Schwartz 1980; Zippel 1979). The comparison
 * is exact if the formulas contain only + - * / and small powers.
 */

/** Quotients of primes. No formula of a textbook is zero at them by accident. */
const numerators = [37, -53, 101, 211, -307, 401, -89, 163];
const neededPoints = 3;
const relativeError = 1e-10;
const absoluteError = 1e-14;

/** Constants without an exact value. */
const constants: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };

export function isEqualAtPoints(wanted: Expression, found: Expression): boolean {
  return (
    isWritten(wanted, found) || holdsAtPoints(variablesOf(wanted, found), (point) => isEqualAt(wanted, found, point))
  );
}

/**
 * Whether both have the same signs in the same places. It compares formulas that have no value at any of the points,
 * such as `n!`.
 */
function isWritten(wanted: Expression, found: Expression): boolean {
  const write = (of: Expression): string =>
    JSON.stringify(of, (_, part: unknown) => (part instanceof Fraction ? part.toFraction() : part));
  return write(wanted) === write(found);
}

/** Whether one formula is a nonzero constant multiple of the other. */
export function isMultipleAtPoints(
  wanted: Expression,
  found: Expression,
  { isPositive }: { readonly isPositive: boolean },
): boolean {
  let ratio: number | null = null;
  return holdsAtPoints(variablesOf(wanted, found), (point) => {
    const [first, second] = [nearlyAt(wanted, point), nearlyAt(found, point)];
    if (!Number.isFinite(first) || !Number.isFinite(second) || first === 0 || second === 0) return null;
    ratio ??= second / first;
    return isNear(second / first, ratio) && (!isPositive || ratio > 0);
  });
}

function variablesOf(...formulas: readonly Expression[]): readonly string[] {
  const parts = formulas.flatMap((formula) => [...subexpressionsOf(formula)]);
  const names = new Set(parts.flatMap((part) => (part.kind === 'variable' ? [part.name] : [])));
  return [...names].filter((name) => constants[name] === undefined).sort();
}

/**
 * `holds` returns null at a point at which one of the formulas has no value. Formulas with values at too few points,
 * such as `n!` and `binom(n, 2)`, are tested at whole numbers.
 */
function holdsAtPoints(variables: readonly string[], holds: (point: Point) => boolean | null): boolean {
  for (const valueOf of [primeAt, wholeAt]) {
    const found = numerators.map((_, at) => holds(pointAt(variables, (index) => valueOf(at, index))));
    if (found.includes(false)) return false;
    if (found.filter((isSo) => isSo === true).length >= neededPoints) return true;
  }
  return false;
}

type Point = ReadonlyMap<string, Fraction>;

function pointAt(variables: readonly string[], valueOf: (index: number) => Fraction): Point {
  return new Map(variables.map((name, index) => [name, valueOf(index)]));
}

function primeAt(at: number, index: number): Fraction {
  return new Fraction(numerators[(at + index * 3) % numerators.length] ?? 1, 29 + 2 * index);
}

function wholeAt(at: number, index: number): Fraction {
  return new Fraction(9 + at + 5 * index);
}

/** Null if one of the formulas has no value at this point. */
function isEqualAt(wanted: Expression, found: Expression, point: Point): boolean | null {
  const exactly = [wanted, found].map((formula) => evaluateExactly(formula, (name) => point.get(name) ?? null));
  const [left, right] = exactly;
  if (left && right) return left.equals(right);
  const [first, second] = [nearlyAt(wanted, point), nearlyAt(found, point)];
  return Number.isFinite(first) && Number.isFinite(second) ? isNear(first, second) : null;
}

function nearlyAt(formula: Expression, point: Point): number {
  return evaluateNearly(formula, (name) => constants[name] ?? point.get(name)?.valueOf() ?? Number.NaN);
}

/** Compares with a relative bound, so that tiny numbers differ. An absolute bound covers zeros such as sin(pi). */
function isNear(first: number, second: number): boolean {
  const difference = Math.abs(first - second);
  return difference <= relativeError * Math.max(Math.abs(first), Math.abs(second)) || difference <= absoluteError;
}
