import type { Expression } from '../arithmetic/expression.js';
import { readExpression } from '../arithmetic/read-expression.js';
import type { AnswerValue } from './read-value.js';

/** A relation `left operator right`. The operator is never > or ≥. */
export type Relation = {
  readonly kind: 'relation';
  readonly operator: '=' | '≠' | '<' | '≤';
  readonly left: Expression;
  readonly right: Expression;
};

const infinity: Expression = { kind: 'variable', name: '∞' };
const minusInfinity: Expression = { kind: 'negation', of: infinity };

/** Reads an inequality of one variable as an interval: `x > 3` is `(3, ∞)`, and `0 ≤ x < 1` is `[0, 1)`. */
export function readRelation(sides: readonly string[], operators: readonly string[]): AnswerValue | null {
  const formulas = sides.map((side) => readExpression(side, { hasAlgebra: true }));
  const known = formulas.filter((formula) => formula !== null);
  if (known.length < formulas.length) return null;
  const signs = operators.map((operator) => ({ '<=': '≤', '>=': '≥', '!=': '≠' })[operator] ?? operator);
  if (signs.every((sign) => sign === '>' || sign === '≥'))
    return read(known.toReversed(), signs.toReversed().map(turned));
  return read(known, signs);
}

function turned(sign: string): string {
  return sign === '>' ? '<' : '≤';
}

function read(formulas: readonly Expression[], signs: readonly string[]): AnswerValue | null {
  const [first, second, third] = formulas;
  const [sign, next] = signs;
  if (first === undefined || second === undefined) return null;
  if (third !== undefined) {
    if (formulas.length > 3 || !isBelow(sign) || !isBelow(next) || second.kind !== 'variable') return null;
    return interval({ from: first, to: third }, { isFrom: sign === '≤', isTo: next === '≤' });
  }
  if (isBelow(sign) && first.kind === 'variable')
    return interval({ from: minusInfinity, to: second }, { isFrom: false, isTo: sign === '≤' });
  if (isBelow(sign) && second.kind === 'variable')
    return interval({ from: first, to: infinity }, { isFrom: sign === '≤', isTo: false });
  if (sign !== '=' && sign !== '≠' && !isBelow(sign)) return null;
  return { kind: 'relation', operator: sign, left: first, right: second };
}

function isBelow(sign: string | undefined): sign is '<' | '≤' {
  return sign === '<' || sign === '≤';
}

function interval(
  ends: { readonly from: Expression; readonly to: Expression },
  closed: { readonly isFrom: boolean; readonly isTo: boolean },
): AnswerValue {
  const end = (of: Expression): AnswerValue => ({ kind: 'formula', of, unit: '', name: null });
  const shape = `${closed.isFrom ? '[' : '('}${closed.isTo ? ']' : ')'}`;
  return { kind: 'parts', shape, parts: [end(ends.from), end(ends.to)] };
}

/** Returns left - right, which is zero if the equation holds. */
export function differenceOf({ left, right }: Relation): Expression {
  return { kind: 'operation', operator: '-', left, right };
}

export function equationOf(name: string, right: Expression): Relation {
  return { kind: 'relation', operator: '=', left: { kind: 'variable', name }, right };
}
