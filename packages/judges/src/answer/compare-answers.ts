import Fraction from 'fraction.js';
import type { Comparison } from './comparisons.js';
import { compareExpressions } from './compare-expressions.js';
import { plainText } from './plain-text.js';
import { readQuantity, type Quantity } from './read-quantity.js';

export type CompareOptions = {
  /** Of numbers: the largest difference, relative to the expected one. 0: exactly equal. */
  readonly tolerance: number;
  readonly ignoreCase: boolean;
};

/** Whether a given answer says what is expected. Null: the expected one cannot be read, which is a mistake of the task. */
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
      return compareExpressions(expected, given);
    case 'set':
      return isSameSet(expected, given, options);
  }
}

function toComparable(text: string, { ignoreCase }: CompareOptions): string {
  const plain = text.normalize('NFKC').replaceAll(/[“”]/g, '"').replaceAll(/[‘’]/g, "'").replaceAll(/\s+/g, ' ');
  const bare = withoutMarksAround(plain);
  return ignoreCase ? bare.toLowerCase() : bare;
}

/** Step by step: a regular expression would look at each run of marks inside of the text again from each of its characters. */
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
  return found !== null && hasFittingUnit(wanted, found) && isNear(wanted.value, found.value, options.tolerance);
}

/** A unit may be left out, or be added; two units must be the same. */
function hasFittingUnit(wanted: Quantity, found: Quantity): boolean {
  return wanted.unit === '' || found.unit === '' || normalUnit(wanted.unit) === normalUnit(found.unit);
}

function normalUnit(unit: string): string {
  return unit
    .toLowerCase()
    .replaceAll(/[\s.]/g, '')
    .replace(/(?<=\w{2})s$/, '');
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

const choiceLetter = /^[\s("'*[]*([A-Z])(?:[)\].:*"'\s]|$)/;

/** The letter of `B`, `(B)`, `B. Paris` or `**B**`. */
export function readChoice(text: string): string | null {
  const bare = plainText(text);
  const letter = choiceLetter.exec(bare)?.[1];
  if (letter !== undefined) return letter;
  return /^[\s(]*([a-z])[\s).]*$/.exec(bare)?.[1]?.toUpperCase() ?? null;
}

function isSameChoice(expected: string, given: string): boolean | null {
  const wanted = readChoice(expected);
  return wanted === null ? null : readChoice(given) === wanted;
}

/** The same parts in any order, each as often; parts are numbers if both are. */
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
  return isSameNumber(expected, given, options) ?? toComparable(expected, options) === toComparable(given, options);
}

const maxParts = 1000;

function partsOfSet(text: string): readonly string[] {
  const bare = withoutOuterBrackets(
    plainText(text)
      .replaceAll(/[$\\]/g, '')
      .replaceAll(/\band\b/g, ', ')
      .trim(),
  );
  const separator = [';', ', ', ','].find((candidate) => splitOutside(bare, candidate).length > 1) ?? ',';
  return splitOutside(bare, separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .slice(0, maxParts);
}

/** Brackets around the whole text: `{1, 2}`, but not the two pairs of `(1, 2), (3, 4)`. */
function withoutOuterBrackets(text: string): string {
  if (!/^[{[]/.test(text) || !/[}\]]$/.test(text)) return text;
  const inside = text.slice(1, -1);
  return depthsOf(inside).every((depth) => depth >= 0) ? inside : text;
}

/** How many brackets are open at each character. */
function depthsOf(text: string): readonly number[] {
  let depth = 0;
  return [...text].map((character) => {
    if ('([{'.includes(character)) depth++;
    if (')]}'.includes(character)) depth--;
    return depth;
  });
}

function splitOutside(text: string, separator: string): readonly string[] {
  const depths = depthsOf(text);
  const parts = [''];
  const characters = [...text];
  for (let at = 0; at < characters.length; at++) {
    const isHere =
      depths[at] === 0 &&
      characters[at] === separator.charAt(0) &&
      characters.slice(at, at + separator.length).join('') === separator;
    if (isHere) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${characters[at] ?? ''}`);
    if (isHere) at += separator.length - 1;
  }
  return parts;
}
