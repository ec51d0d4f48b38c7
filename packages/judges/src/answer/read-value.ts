import Fraction from 'fraction.js';
import { functionNames, type Expression } from '../arithmetic/expression.js';
import { readExpression } from '../arithmetic/read-expression.js';
import { isDoubtful } from './doubt.js';
import { isEqualAtPoints } from './equal-at-points.js';
import { plainFormula, withoutWordMarks, wordsClose, wordsOpen } from './plain-text.js';
import { readQuantity } from './read-quantity.js';
import { readRelation, type Relation } from './read-relation.js';
import { isKnownUnit } from './same-unit.js';
import { insideBrackets, splitOutside, splitParts } from './split-parts.js';

/** The meaning of a mathematical answer: a formula, several of them in brackets, a relation, or words. */
export type AnswerValue =
  | Formula
  | AnswerParts
  | Relation
  | { readonly kind: 'words'; readonly text: string; readonly formula: Expression | null }
  | { readonly kind: 'literal'; readonly text: string };

/** `name` is the other side of an equation, such as `x`. Null if there is none. */
export type Formula = {
  readonly kind: 'formula';
  readonly of: Expression;
  readonly unit: string;
  readonly name: string | null;
};

/**
 * `shape` holds the two brackets of a tuple or interval. It is '' for a set or list, and '∪' for a union, whose parts
 * have no order.
 */
export type AnswerParts = { readonly kind: 'parts'; readonly shape: string; readonly parts: readonly AnswerValue[] };

const allReals = /^[\s$]*(?:[a-z]\s*\\in\s*)?(?:\\mathbb\s*(?:R|\{R\})|ℝ|(?:\\text\{)?all real numbers\}?)[\s.$]*$/i;
const maxLength = 2000;
const maxParts = 100;
const maxDepth = 8;

/** Null unless the text is exactly one answer. */
export function readValue(text: string): AnswerValue | null {
  if (text.length > maxLength) return null;
  const plain = plainFormula(withUnitAfter(text.replace(allReals, '(-\\infty, \\infty)')))
    .replaceAll('$', '')
    .replaceAll(/\b([ap])\.\s?m\b\.?/gi, '$1m')
    .replaceAll(/\^\s*(?:\(°\)|°)/g, '°');
  const value = readPlain(withoutOuterMarks(plain), 0);
  return value?.kind === 'formula' && value.unit === '' && hasCurrency(text) ? { ...value, unit: '$' } : value;
}

/** Rewrites `$\pi$ meters` as `$\pi\text{ meters}$`. */
function withUnitAfter(text: string): string {
  return text.replace(/^\s*\$([^$]{1,300})\$\s+(\p{L}[\p{L}\s]{0,40}(?:\^?[23²³])?)\.?\s*$/u, '$1\\text{ $2}');
}

/** Whether the text has a dollar sign that does not open a formula. */
function hasCurrency(text: string): boolean {
  return /\\\$/.test(text) || (text.match(/\$/g) ?? []).length % 2 === 1;
}

function withoutOuterMarks(text: string): string {
  const bare = text.replace(/^[\s*`"]+/, '').replace(/[\s*`"]+$/, '');
  const end = bare.replace(/(?<!\.)[.,;]$/, '').trim();
  return end === text ? text : withoutOuterMarks(end);
}

function readPlain(text: string, depth: number): AnswerValue | null {
  if (depth > maxDepth || text === '') return null;
  const plain = readableWords(text);
  const readers = [
    readTime,
    readOnlyWords,
    readMatrix,
    readMember,
    readUnion,
    readNumber,
    readPlusMinus,
    readBrackets,
    readList,
    readRatio,
    readSides,
  ];
  for (const read of readers) {
    const value = read(plain, (part) => readPlain(withoutOuterMarks(part), depth + 1));
    if (value !== undefined) return value;
  }
  return readFormula(plain);
}

/** Undefined means that the text has another form. Null means that it has this form but cannot be read. */
type Reader = (text: string, readPart: (text: string) => AnswerValue | null) => AnswerValue | null | undefined;

/** Reads `\text{ or }` as a word of the list, and labels such as `\text{Area}` as words. */
function readableWords(text: string): string {
  return text.replaceAll(/\uE000\s*(or|and|to|,|;)\s*\uE001/g, ' $1 ').trim();
}

const readOnlyWords: Reader = (text, readPart) => {
  const marked = /^\uE000([^\uE000\uE001]*)\uE001$/.exec(text)?.[1]?.trim();
  if (marked !== undefined) return /^\p{L}{2}|^\p{L}.*\s/u.test(marked) ? wordsOf(marked) : readPart(marked);
  return looksLikeWords(text) ? wordsOf(text) : undefined;
};

/** Reads `2:30 PM` as a time, not as a ratio. */
const readTime: Reader = (text) => {
  const [, hour, minutes, half] = /^(\d{1,2}):(\d{2})\s?([ap])m$/i.exec(withoutWordMarks(text)) ?? [];
  return hour === undefined
    ? undefined
    : { kind: 'words', text: `${hour}:${minutes} ${half?.toLowerCase()}m`, formula: null };
};

function wordsOf(text: string): AnswerValue {
  return {
    kind: 'words',
    text: text.toLowerCase().replaceAll(/\s+/g, ' '),
    formula: readExpression(text, { hasAlgebra: true }),
  };
}

/**
 * Recognizes words with numbers between them: `Evelyn` and `June 20`, but not `ab` or `sin x`. Words have three
 * consecutive letters.
 */
function looksLikeWords(text: string): boolean {
  if (!/^\p{L}(?:[\p{L}\s'’.-]|(?<=[\s\d])\d|(?<=\d),(?=\s\d))*$/u.test(text) || /(?:^|\s)(?:or|and|not)\s/i.test(text))
    return false;
  const runs = text.match(/\p{L}{3,}/gu) ?? [];
  return runs.some((run) => !functionNames.some((name) => run.startsWith(name)));
}

const readMatrix: Reader = (text, readPart) => {
  const inside = /^\\begin\{([pbvBV]?matrix|array)\}(?:\{[lcr|]*\})?(.*)\\end\{\1\}$/.exec(
    text.replaceAll(/\\(begin|end) ?\{\{?(\w+)\}?\}/g, '\\$1{$2}'),
  )?.[2];
  if (inside === undefined) return undefined;
  const rows = inside.split(/\\\\/).filter((row) => row.trim() !== '');
  return partsOf(
    'rows',
    rows
      .map((row) => row.split('&'))
      .map((cells) =>
        partsOf(
          'row',
          cells.map((cell) => readPart(cell.trim())),
        ),
      ),
  );
};

/** Reads `x ∈ [0, 1)` and `{x ∈ R | x ≥ 2}` as intervals. */
const readMember: Reader = (text, readPart) => {
  const set = (/^\{\s*[a-zA-Z](?:\s*∈\s*R)?\s*[|:]([^|:]+)\}$/.exec(text) ?? /^[a-zA-Z]\s*∈\s*(.+)$/.exec(text))?.[1];
  return set === undefined ? undefined : readPart(set);
};

const readUnion: Reader = (text, readPart) => {
  const parts = splitOutside(text.replaceAll(/([)\]}])\s*U\s*(?=[([{])/g, '$1∪'), /∪/y);
  return parts.length === 1
    ? undefined
    : partsOf(
        '∪',
        parts.slice(0, maxParts).map((part) => readPart(part.trim())),
      );
};

/** Reads a numeral with the forms that only numerals have: thousands, mixed fractions, magnitudes, a unit. */
const readNumber: Reader = (text) => {
  const based = /^(\d{1,40})_\{?(\d{1,2})\}?$/.exec(text);
  if (based) return formulaOf({ kind: 'number', value: new Fraction(based[1] ?? '0') }, `base ${based[2] ?? ''}`);
  const quantity = readQuantity(text);
  if (quantity === null || /=/.test(text)) return undefined;
  return isUnitOfFormula(quantity.unit, text)
    ? formulaOf({ kind: 'number', value: quantity.value }, quantity.unit)
    : undefined;
};

/** `3 cm` and `3 apples` have a unit; `3ab` and `3 m` are products. */
function isUnitOfFormula(unit: string, text: string): boolean {
  if (unit === '' || /^[%°\p{Sc}]/u.test(unit)) return true;
  if (text.includes(wordsOpen)) return true;
  return isKnownUnit(unit)
    ? unit.length > 1
    : /[\d.]\s+\p{L}{3,}/u.test(text) && !functionNames.some((name) => unit.startsWith(name));
}

const readPlusMinus: Reader = (text, readPart) => {
  const [before, after, ...more] = text.split('±');
  if (before === undefined || after === undefined) return undefined;
  if (more.length > 0) return null;
  return partsOf(
    '',
    ['+', '-'].map((sign) => unnamed(readPart(`${before}${sign}${after}`))),
  );
};

const readBrackets: Reader = (text, readPart) => {
  if (/^(?:∅|\{\s*\})$/.test(text)) return { kind: 'parts', shape: '', parts: [] };
  const brackets = insideBrackets(text);
  if (brackets === null) return undefined;
  const { open, close, inside } = brackets;
  const parts = splitOutside(inside, /[,;]/y);
  if ((open === '{') !== (close === '}')) return null;
  if (parts.length === 1) return open === '{' || inside.includes(wordsOpen) ? readPart(inside) : undefined;
  return partsOf(
    open === '{' ? '' : `${open}${close}`,
    parts.slice(0, maxParts).map((part) => readPart(part.trim())),
  );
};

const readList: Reader = (text, readPart) => {
  const parts = splitParts(text);
  if (parts.length < 2) return parts.length === 1 && parts[0] !== text ? null : undefined;
  const values = parts.slice(0, maxParts).map(readPart);
  const hasSentence = values.some((value) => value?.kind === 'words' && value.text.includes(' '));
  if (hasSentence && values.some((value) => value?.kind !== 'words')) return null;
  const names = values.map((value) => (value?.kind === 'formula' ? value.name : null));
  const isRoots = new Set(names.map((name) => name?.replace(/_\{?\d\}?$/, '_'))).size < names.length;
  const isPoint = !names.includes(null) && !isRoots;
  if (!isPoint) return partsOf(isAlternative(text, parts) ? '∪' : '', values.map(unnamed));
  const ordered = values.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  return partsOf('()', ordered.map(unnamed));
};

/** Recognizes `x < -1 or x > 1`, a union of intervals. */
function isAlternative(text: string, parts: readonly string[]): boolean {
  return /\bor\b/.test(text) && parts.every((part) => /[<>≤≥]/.test(part));
}

/** Reads `1 : 2`. */
const readRatio: Reader = (text, readPart) => {
  const sides = splitOutside(text, /:|\bto\b/y);
  if (sides.length === 1) return undefined;
  const values = sides.map((side) => readPart(side.trim()));
  return values.every((value) => value?.kind === 'formula') ? partsOf(':', values) : null;
};

const readSides: Reader = (text, readPart) => {
  const sides = splitOutside(text, /<=|>=|!=|[=<>≤≥≠]/y);
  if (sides.length === 1) return undefined;
  if (sides.length > 4) return null;
  const operators = text.match(/<=|>=|!=|[=<>≤≥≠]/g) ?? [];
  if (operators.some((operator) => operator !== '=')) return readRelation(sides, operators);
  return readEquation(sides, readPart);
};

/** `x = 5` means 5, `6 * 7 = 42` means 42, and `2x + 3y = 6` is a relation. */
function readEquation(sides: readonly string[], readPart: (text: string) => AnswerValue | null): AnswerValue | null {
  const [left = '', ...rest] = sides.map((side) => side.trim());
  const last = readPart(rest.at(-1) ?? '');
  const name = nameOfSide(left);
  const computed = (name === null ? [left, ...rest] : rest).slice(0, -1).map(readPart);
  const isChain = last !== null && computed.every((value) => value !== null && isConstantEqual(value, last));
  if (isChain) return last.kind === 'formula' && name !== null ? { ...last, name } : last;
  return rest.length === 1 && name === null ? readRelation(sides, ['=']) : null;
}

function isConstantEqual(value: AnswerValue, last: AnswerValue): boolean {
  return (
    value.kind === 'formula' && last.kind === 'formula' && !hasVariables(last.of) && isEqualAtPoints(value.of, last.of)
  );
}

function hasVariables(of: Expression): boolean {
  if (of.kind === 'variable') return of.name !== 'pi' && of.name !== 'e';
  if (of.kind === 'operation') return hasVariables(of.left) || hasVariables(of.right);
  return of.kind !== 'number' && hasVariables(of.of);
}

/** A variable, `f(x)`, `P(A)`, or the words of a label. Null for a formula. */
function nameOfSide(text: string): string | null {
  const plain = withoutWordMarks(text);
  if (isDoubtful(plain)) return null;
  return /^(?:\([a-z](?:_\{?\d\}?)?(?:,\s?[a-z](?:_\{?\d\}?)?){1,4}\)|[\p{L}Δ](?:_\{?\w{1,5}\}?)?'?(?:\([a-zA-Z](?:,\s?[a-zA-Z])*\))?|\p{L}[\p{L}\s]{2,30}|\\angle [A-Z]{1,3}|\\(?:vec|overrightarrow) \{[a-zA-Z]{1,2}\}|[A-Z]{1,3})$/u.test(
    plain,
  )
    ? plain
    : null;
}

function nameOf(value: AnswerValue | null): string {
  return value?.kind === 'formula' ? (value.name ?? '') : '';
}

function unnamed(value: AnswerValue | null): AnswerValue | null {
  return value?.kind === 'formula' ? { ...value, name: null } : value;
}

function partsOf(shape: string, parts: readonly (AnswerValue | null)[]): AnswerParts | null {
  const known = parts.filter((part) => part !== null);
  return known.length === parts.length ? { kind: 'parts', shape, parts: known } : null;
}

function formulaOf(of: Expression, unit: string): Formula {
  return { kind: 'formula', of, unit, name: null };
}

/** Reads a formula with at most one unit. Unknown LaTeX is compared by its letters. */
function readFormula(given: string): AnswerValue | null {
  const text = withRadians(given);
  if (/[a-z]{2,} [a-z]{2,} [a-z]{4,}/.test(text)) return null;
  const { formula, unit } = withoutUnit(text);
  const of = unit === null ? null : readExpression(formula, { hasAlgebra: true });
  if (of !== null && unit !== null) return formulaOf(of, unit);
  const isLatex = /\\[a-zA-Z]{2}|[∖∩]/.test(text) && !text.includes(wordsOpen);
  return isLatex
    ? { kind: 'literal', text: text.replaceAll(/\s/g, '').replaceAll(/(?<=\^)\((\w)\)|(?<=_)\{(\w)\}/g, '$1$2') }
    : null;
}

/** Converts degrees inside a trigonometric formula. In other places they are a unit. */
function withRadians(text: string): string {
  const isTrigonometric = /(?:sin|cos|tan|cot|sec|csc)(?![a-z])/.test(text);
  return isTrigonometric ? text.replaceAll(/(\d{1,20}(?:\.\d{1,20})?)\s?°/g, '($1*pi/180)') : text;
}

/** The unit is null if the words after the formula are not a unit. */
function withoutUnit(text: string): { readonly formula: string; readonly unit: string | null } {
  const sign = /[%°]$/.exec(text)?.[0];
  if (sign !== undefined) return { formula: text.slice(0, -1), unit: sign };
  const from = text.indexOf(wordsOpen);
  if (from <= 0) return { formula: text, unit: from < 0 ? '' : null };
  const words = withoutWordMarks(text.slice(from).replaceAll(wordsClose, ' '));
  return { formula: text.slice(0, from), unit: readQuantity(`1 ${words.replaceAll(' ^', '^')}`)?.unit ?? null };
}
