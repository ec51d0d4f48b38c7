import Fraction from 'fraction.js';
import { evaluateExactly, evaluateNearly, partsOf, type Expression } from '../arithmetic/expression.js';
import { readExpression } from '../arithmetic/read-expression.js';
import { plainText } from './plain-text.js';

/**
 * Two formulas are taken as equal if they have equal values at several points. Polynomials of degree d that differ agree at one
 * random point out of a set of size s with a chance of d/s at most (Schwartz 1980; Zippel 1979); the points are compared exactly if
 * the formulas have only + - * / and small powers.
 */

/** Primes over primes: no formula of a textbook vanishes at them by accident. */
const numerators = [37, -53, 101, 211, -307, 401, -89, 163];
const neededPoints = 3;
const relativeError = 1e-9;

/** Null: the expected formula cannot be read. */
export function compareExpressions(expected: string, given: string): boolean | null {
  const wanted = readFormula(expected);
  if (wanted === null) return null;
  const found = readFormula(given);
  return found !== null && isEqualAtPoints(wanted, found);
}

/** `x = 5` says 5; `$...$` and a full stop at the end are not part of the formula. */
function readFormula(text: string): Expression | null {
  const plain = plainText(text)
    .replaceAll('$', '')
    .replace(/[.,;]\s*$/, '')
    .replace(/^\s*[a-zA-Z](?:\([a-zA-Z]\))?\s*=(?!=)/, '')
    .replaceAll('{', '(')
    .replaceAll('}', ')');
  return readExpression(plain, { hasAlgebra: true });
}

function isEqualAtPoints(wanted: Expression, found: Expression): boolean {
  const names = new Set(
    [...partsOf(wanted), ...partsOf(found)].flatMap((part) => (part.kind === 'variable' ? [part.name] : [])),
  );
  const variables = [...names].filter((name) => name !== 'pi').sort();
  let points = 0;
  for (const [at] of numerators.entries()) {
    const isEqual = isEqualAt(wanted, found, pointAt(at, variables));
    if (isEqual === false) return false;
    if (isEqual === true) points++;
  }
  return points >= neededPoints;
}

type Point = ReadonlyMap<string, Fraction>;

function pointAt(at: number, variables: readonly string[]): Point {
  const valueOf = (index: number): Fraction =>
    new Fraction(numerators[(at + index * 3) % numerators.length] ?? 1, 29 + 2 * index);
  return new Map(variables.map((name, index) => [name, valueOf(index)]));
}

/** Null: one of them has no value at this point. */
function isEqualAt(wanted: Expression, found: Expression, point: Point): boolean | null {
  const exactly = [wanted, found].map((formula) => evaluateExactly(formula, (name) => point.get(name) ?? null));
  const [left, right] = exactly;
  if (left && right) return left.equals(right);
  const nearly = [wanted, found].map((formula) =>
    evaluateNearly(formula, (name) => (name === 'pi' ? Math.PI : (point.get(name)?.valueOf() ?? Number.NaN))),
  );
  const [first = Number.NaN, second = Number.NaN] = nearly;
  if (!Number.isFinite(first) || !Number.isFinite(second)) return null;
  return Math.abs(first - second) <= relativeError * Math.max(1, Math.abs(first), Math.abs(second));
}
