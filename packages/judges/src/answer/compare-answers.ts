import Fraction from 'fraction.js';
import type { Comparison } from '../shared-settings.js';
import { isSameValue } from './compare-values.js';
import { plainText } from './plain-text.js';
import { readChoice } from './read-choice.js';
import { readQuantity, type Quantity } from './read-quantity.js';
import { readValue } from './read-value.js';
import { hasFittingUnit, isPercent } from './same-unit.js';
import { insideBrackets, splitOutside, splitParts } from './split-parts.js';

export type CompareOptions = {
  /** For numbers: the largest difference, relative to the expected value. 0 means exactly equal. */
  readonly tolerance: number;
  readonly ignoreCase: boolean;
};

/**
 * Whether a given answer matches the expected one. Null if the expected one cannot be read, which is an error in the
 * task.
 */
export function isSameAnswer(
  comparison: Comparison,
  { expected, given }: { readonly expected: string; readonly given: string },
  options: CompareOptions,
): boolean | null {
  switch (comparison) {
    case 'text':
      return toComparable(given, options) === toComparable(expected, options);
    case 'number':
      return isSameNumber(expected, given, options);
    case 'choice':
      return isSameChoice(expected, given);
    case 'expression':
      return isSameExpression(expected, given);
    case 'set':
      return isSameSet(expected, given, options);
  }
}

/** Whether a given answer can be compared with the expected ones. */
export function isReadableAs(comparison: Comparison, given: string, expected: readonly string[]): boolean {
  if (comparison === 'text') return true;
  if (/^\W*not\s/i.test(given) || (given.includes('\n') && !given.includes('\\begin{'))) return false;
  if (comparison === 'number') return readQuantity(given) !== null;
  if (comparison === 'choice') return readChoice(given) !== null;
  if (comparison === 'set') return partsOfSet(given).length > 0;
  if (expected.some(isLetterOfOption) && readChoice(given) !== null) return true;
  const kind = readValue(given)?.kind;
  const isFormula = kind !== undefined && kind !== 'words' && kind !== 'literal';
  return isFormula || expected.some((answer) => kind !== undefined && readValue(answer)?.kind === kind);
}

function isSameExpression(expected: string, given: string): boolean | null {
  const wanted = readValue(expected);
  if (wanted === null) return null;
  if (isLetterOfOption(expected) && isSameChoice(expected, given) === true) return true;
  const found = readValue(withConstant(expected, given));
  if (found !== null && isSameValue(wanted, found)) return true;
  const tuple = wanted.kind === 'parts' && wanted.shape === '()' && isBareList(given) ? readValue(`(${given})`) : null;
  return tuple !== null && isSameValue(wanted, tuple);
}

/** Recognizes `\text{(C)}`, a letter in brackets that names an option. */
function isLetterOfOption(expected: string): boolean {
  return /^\([A-H]\)$/.test(plainText(expected)) && /\\text|\\mathrm|\\mathbf/.test(expected);
}

/** Reads `+ c` as the `+ C` of an integral. */
function withConstant(expected: string, given: string): string {
  const hasConstant = /[+]\s*C\$?$/.test(expected.trim()) && !/c/.test(expected.replaceAll(/\\[a-zA-Z]+/g, ''));
  return hasConstant ? given.replace(/(?<=[+]\s*)c(?=[\s.$]*$)/, 'C') : given;
}

/** Recognizes `3, 5`, a tuple without its brackets. */
function isBareList(given: string): boolean {
  const parts = splitOutside(plainText(given).replaceAll('$', ''), /,/y);
  return (
    parts.length > 1 &&
    !/[()[\]{};=]|\b(?:and|or)\b|\\/.test(given.replaceAll(/\\frac|\\sqrt|\\pi|\\circ|\\[,!]|(?<!\\)[{}]/g, ''))
  );
}

function toComparable(text: string, { ignoreCase }: CompareOptions): string {
  const plain = withoutLatex(text)
    .normalize('NFKC')
    .replaceAll(/[“”]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/\s+/g, ' ');
  const bare = withoutMarksAround(plain);
  return ignoreCase ? bare.toLowerCase() : bare;
}

/** Extracts words from LaTeX, such as `\\text{Paris}`. */
function withoutLatex(text: string): string {
  return /\\(?:text|math|mbox|boxed)|^\$.*\$$/.test(text.slice(0, 1000)) ? plainText(text).replaceAll('$', '') : text;
}

/**
 * Strips marks step by step. A regular expression would be slow, because it would start again at each character of a
 * run of marks.
 */
function withoutMarksAround(text: string): string {
  const marks = ' "\'`*';
  let [start, end] = [0, text.length];
  while (start < end && marks.includes(text.charAt(start))) start++;
  while (start < end && `${marks}.`.includes(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSameNumber(expected: string, given: string, options: CompareOptions): boolean | null {
  const wanted = readQuantity(expected);
  if (wanted === null) return null;
  const found = readQuantity(given);
  return found !== null && hasFittingUnit(wanted.unit, found.unit) && isSameQuantity(wanted, found, options.tolerance);
}

/** Compares percentages. 1/2 equals 50% and never 0.5%. 25% equals 0.25, and also 25 if the task asks for per cent. */
function isSameQuantity(wanted: Quantity, found: Quantity, tolerance: number): boolean {
  const isNearBy = (factor: number) => isNear(wanted.value, found.value.mul(factor), tolerance);
  if (isPercent(wanted.unit)) return isNearBy(1) || (found.unit === '' && isNearBy(100));
  const isShare = isPercent(found.unit) && wanted.unit === '' && wanted.value.abs().compare(1) < 0;
  return isShare ? isNear(wanted.value, found.value.div(100), tolerance) : isNearBy(1);
}

function isNear(wanted: Fraction, found: Fraction, tolerance: number): boolean {
  if (tolerance === 0) return wanted.equals(found);
  return (
    found
      .sub(wanted)
      .abs()
      .compare(wanted.abs().mul(new Fraction(tolerance))) <= 0
  );
}

function isSameChoice(expected: string, given: string): boolean | null {
  const wanted = readChoice(expected);
  return wanted === null ? null : readChoice(given) === wanted;
}

/**
 * Compares the parts in any order, each with its number of occurrences. Parts are compared as numbers if both are
 * numbers.
 */
function isSameSet(expected: string, given: string, options: CompareOptions): boolean | null {
  const wanted = partsOfSet(expected);
  const open = [...partsOfSet(given)];
  if (wanted.length === 0) return null;
  if (open.length !== wanted.length) return false;
  return wanted.every((part) => {
    const at = open.findIndex((other) => isSamePart(part, other, options));
    if (at >= 0) open.splice(at, 1);
    return at >= 0;
  });
}

function isSamePart(expected: string, given: string, options: CompareOptions): boolean {
  const isText = toComparable(expected, options) === toComparable(given, options);
  return isText || (isSameNumber(expected, given, options) ?? isSameExpression(expected, given) ?? false);
}

const maxParts = 1000;
const maxSetLength = 20_000;

function partsOfSet(text: string): readonly string[] {
  if (text.length > maxSetLength) return [];
  const plain = plainText(text)
    .replaceAll('$', '')
    .replaceAll(/^[\s*`"]+|[\s*`".]+$/g, '');
  const brackets = insideBrackets(plain);
  return splitParts(brackets === null || brackets.open === '(' ? plain : brackets.inside).slice(0, maxParts);
}
