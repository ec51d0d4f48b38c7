import type Fraction from 'fraction.js';

/** What a formula says, without the text that it was read from. Numerals are exact. */
export type Expression =
  | { readonly kind: 'number'; readonly value: Fraction }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'negation'; readonly of: Expression }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly of: Expression }
  | { readonly kind: 'operation'; readonly operator: Operator; readonly left: Expression; readonly right: Expression };

export type Operator = '+' | '-' | '*' | '/' | '^';

export const functionNames = ['sqrt', 'sin', 'cos', 'tan', 'ln', 'log', 'exp', 'abs'] as const;
export type FunctionName = (typeof functionNames)[number];

/** The parts of an expression, itself first. */
export function* partsOf(expression: Expression): Generator<Expression> {
  yield expression;
  if (expression.kind === 'negation' || expression.kind === 'call') yield* partsOf(expression.of);
  if (expression.kind === 'operation') {
    yield* partsOf(expression.left);
    yield* partsOf(expression.right);
  }
}

/** Beyond this a power is not computed exactly: a judge must not compute 9^9^9 because a model wrote it. */
const maxExponent = 64;
const maxDigits = 400;

/**
 * The exact value, with `valueOf` for variables. Null if it has none among fractions: a division by zero, a root, a
 * power that is too large.
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
      return null;
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

function isLong({ n, d }: Fraction): boolean {
  return n.toString().length > maxDigits || d.toString().length > maxDigits;
}

/** The value in floating point, NaN if it has none among the real numbers. */
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

const functions: Readonly<Record<FunctionName, (value: number) => number>> = {
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  ln: Math.log,
  log: Math.log10,
  exp: Math.exp,
  abs: Math.abs,
};

const operations: Readonly<Record<Operator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '^': (left, right) => left ** right,
};
