import Fraction from 'fraction.js';
import { subexpressionsOf, type Expression } from '../arithmetic/expression.js';
import { isEqualAtPoints, isMultipleAtPoints } from './equal-at-points.js';
import { differenceOf, equationOf, type Relation } from './read-relation.js';
import type { Formula, AnswerParts, AnswerValue } from './read-value.js';
import { hasFittingUnit, isDegree, isPercent } from './same-unit.js';

/** Whether two answers mean the same. */
export function isSameValue(wanted: AnswerValue, found: AnswerValue): boolean {
  if (wanted.kind === 'words' && found.kind === 'words') return wanted.text === found.text;
  if (wanted.kind === 'words' || found.kind === 'words') return isSameProduct(wanted, found);
  if (wanted.kind === 'literal' || found.kind === 'literal')
    return wanted.kind === 'literal' && found.kind === 'literal' && wanted.text === found.text;
  if (wanted.kind === 'parts' && wanted.shape === ':' && found.kind === 'formula') return isSameRatio(wanted, found);
  if (wanted.kind === 'parts' || found.kind === 'parts')
    return wanted.kind === 'parts' && found.kind === 'parts' && isSameParts(wanted, found);
  if (wanted.kind === 'formula' && found.kind === 'formula') return isSameFormula(wanted, found);
  const [left, right] = [relationOf(wanted), relationOf(found)];
  return left !== null && right !== null && isSameRelation(left, right);
}

/** Compares letters that may be words, such as `abc`, with a formula, such as `a * b * c`. */
function isSameProduct(wanted: AnswerValue, found: AnswerValue): boolean {
  const [left, right] = [formulaOf(wanted), formulaOf(found)];
  return left !== null && right !== null && isEqualAtPoints(left, right);
}

function formulaOf(value: AnswerValue): Expression | null {
  if (value.kind === 'formula') return value.of;
  return value.kind === 'words' ? value.formula : null;
}

/** Compares `2:3` as the quotient 2/3. */
function isSameRatio({ parts }: AnswerParts, found: Formula): boolean {
  const [left, right] = parts;
  if (left?.kind !== 'formula' || right?.kind !== 'formula' || parts.length > 2 || found.unit !== '') return false;
  return isEqualAtPoints({ kind: 'operation', operator: '/', left: left.of, right: right.of }, found.of);
}

function isSameParts(wanted: AnswerParts, found: AnswerParts): boolean {
  if (wanted.shape !== found.shape || wanted.parts.length !== found.parts.length) return false;
  const hasOrder = wanted.shape !== '' && wanted.shape !== '∪';
  const open = [...found.parts];
  return wanted.parts.every((part) => {
    const at = hasOrder ? 0 : open.findIndex((other) => isSameValue(part, other));
    const [other] = at < 0 ? [] : open.splice(at, 1);
    return other !== undefined && isSameValue(part, other);
  });
}

function isSameFormula(wanted: Formula, found: Formula): boolean {
  if (!isSameName(wanted.name, found.name)) return false;
  if (isPercent(wanted.unit) || isPercent(found.unit)) return isSamePercentage(wanted, found);
  return (
    hasFittingUnit(wanted.unit, found.unit) && (isEqualAtPoints(wanted.of, found.of) || isSameAngle(wanted, found))
  );
}

/** Treats `90°` as `pi/2`. */
function isSameAngle(wanted: Formula, found: Formula): boolean {
  const [degrees, other] = isDegree(wanted.unit) ? [wanted, found] : [found, wanted];
  const isPair = isDegree(degrees.unit) && other.unit === '';
  const hasPi = [...subexpressionsOf(other.of)].some((part) => part.kind === 'variable' && part.name === 'pi');
  return isPair && hasPi && isEqualAtPoints(inRadians(degrees.of), other.of);
}

function inRadians(of: Expression): Expression {
  const number = (value: number): Expression => ({ kind: 'number', value: new Fraction(value) });
  const turn: Expression = {
    kind: 'operation',
    operator: '/',
    left: { kind: 'variable', name: 'pi' },
    right: number(180),
  };
  return { kind: 'operation', operator: '*', left: of, right: turn };
}

/** `x = 3` does not match `y = 3`, but `f(x) = 3x` matches `y = 3x`. */
function isSameName(wanted: string | null, found: string | null): boolean {
  return wanted === null || found === null || wanted === found || wanted.length > 1 || found.length > 1;
}

/** 25% matches 25% and 0.25. It also matches 25 if the task asks for per cent. */
function isSamePercentage(wanted: Formula, found: Formula): boolean {
  if (!hasFittingUnit(wanted.unit, found.unit)) return false;
  if (isPercent(wanted.unit) && isPercent(found.unit)) return isEqualAtPoints(wanted.of, found.of);
  const [share, other] = isPercent(wanted.unit) ? [wanted, found] : [found, wanted];
  if (isEqualAtPoints(hundredth(share.of), other.of)) return true;
  const isPart = isPercent(found.unit) && other.of.kind === 'number' && other.of.value.abs().compare(1) < 0;
  return !isPart && isEqualAtPoints(share.of, other.of);
}

function hundredth(of: Expression): Expression {
  return { kind: 'operation', operator: '/', left: of, right: { kind: 'number', value: new Fraction(100) } };
}

function relationOf(value: AnswerValue): Relation | null {
  if (value.kind === 'relation') return value;
  return value.kind === 'formula' && value.name !== null && value.name.length === 1
    ? equationOf(value.name, value.of)
    : null;
}

/** Equations match if one is a multiple of the other. Inequalities match if the multiple is also positive. */
function isSameRelation(wanted: Relation, found: Relation): boolean {
  if (wanted.operator !== found.operator) return false;
  const isDirected = wanted.operator === '<' || wanted.operator === '≤';
  return isMultipleAtPoints(differenceOf(wanted), differenceOf(found), { isPositive: isDirected });
}
