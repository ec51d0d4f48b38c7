import type Fraction from 'fraction.js';

/** A parsed formula. Its numbers are exact. */
export type Expression =
  | { readonly kind: 'number'; readonly value: Fraction }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'negation'; readonly of: Expression }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly of: Expression }
  | { readonly kind: 'operation'; readonly operator: Operator; readonly left: Expression; readonly right: Expression };

export type Operator = '+' | '-' | '*' | '/' | '^';

const functions = {
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  cot: (value: number) => 1 / Math.tan(value),
  sec: (value: number) => 1 / Math.cos(value),
  csc: (value: number) => 1 / Math.sin(value),
  arcsin: Math.asin,
  arccos: Math.acos,
  arctan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  ln: Math.log,
  log: Math.log10,
  exp: Math.exp,
  abs: Math.abs,
  factorial: factorialNearly,
} as const;

export type FunctionName = keyof typeof functions;
/** Names that a formula may use, the longest first, so that `sinh` is not read as a sine. */
export const functionNames = (Object.keys(functions) as FunctionName[])
  .filter((name) => name !== 'factorial')
  .sort((left, right) => right.length - left.length);

/** The parts of an expression. The expression itself comes first. */
export function* subexpressionsOf(expression: Expression): Generator<Expression> {
  yield expression;
  if (expression.kind === 'negation' || expression.kind === 'call') yield* subexpressionsOf(expression.of);
  if (expression.kind === 'operation') {
    yield* subexpressionsOf(expression.left);
    yield* subexpressionsOf(expression.right);
  }
}

/** Larger powers are not computed exactly, so that a model cannot keep the judge busy with 9^9^9. */
const maxExponent = 64;
const maxDigits = 400;

/**
 * Computes the exact value, with `valueOf` for variables. Null if no fraction is the value, as for a division by zero,
 * a root, or a power that is too large.
 */
export function evaluateExactly(
  expression: Expression,
  valueOf: (variable: string) => Fraction | null,
): Fraction | null {
  switch (expression.kind) {
    case 'number':
      return expression.value;
    case 'variable':
      return valueOf(expression.name);
    case 'call':
      return expression.name === 'factorial' ? factorialExactly(evaluateExactly(expression.of, valueOf)) : null;
    case 'negation':
      return evaluateExactly(expression.of, valueOf)?.neg() ?? null;
    case 'operation': {
      const left = evaluateExactly(expression.left, valueOf);
      const right = left && evaluateExactly(expression.right, valueOf);
      return left && right && operateExactly(expression.operator, left, right);
    }
  }
}

function operateExactly(operator: Operator, left: Fraction, right: Fraction): Fraction | null {
  if (isLong(left) || isLong(right)) return null;
  switch (operator) {
    case '+':
      return left.add(right);
    case '-':
      return left.sub(right);
    case '*':
      return left.mul(right);
    case '/':
      return right.equals(0) ? null : left.div(right);
    case '^':
      return powerExactly(left, right);
  }
}

function powerExactly(base: Fraction, exponent: Fraction): Fraction | null {
  if (exponent.d !== 1n || exponent.n > BigInt(maxExponent)) return null;
  if (base.equals(0) && exponent.s <= 0n) return null;
  return base.pow(exponent);
}

/** Larger factorials are computed in floating point: 64! has 90 digits. */
function factorialExactly(of: Fraction | null): Fraction | null {
  if (of === null || of.d !== 1n || of.s < 0n || of.n > BigInt(maxExponent)) return null;
  let product = 1n;
  for (let factor = 2n; factor <= of.n; factor++) product *= factor;
  return of.mul(0).add(product);
}

/** NaN for numbers that are not whole, and above 170, because floating point cannot hold the value. */
function factorialNearly(of: number): number {
  if (!Number.isInteger(of) || of < 0 || of > 170) return Number.NaN;
  let product = 1;
  for (let factor = 2; factor <= of; factor++) product *= factor;
  return product;
}

function isLong({ n, d }: Fraction): boolean {
  return n.toString().length > maxDigits || d.toString().length > maxDigits;
}

/** Computes the value in floating point. NaN if there is no real value. */
export function evaluateNearly(expression: Expression, valueOf: (variable: string) => number): number {
  switch (expression.kind) {
    case 'number':
      return expression.value.valueOf();
    case 'variable':
      return valueOf(expression.name);
    case 'negation':
      return -evaluateNearly(expression.of, valueOf);
    case 'call':
      return functions[expression.name](evaluateNearly(expression.of, valueOf));
    case 'operation':
      return operations[expression.operator](
        evaluateNearly(expression.left, valueOf),
        evaluateNearly(expression.right, valueOf),
      );
  }
}

const operations: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '^': (left, right) => left ** right,
};
