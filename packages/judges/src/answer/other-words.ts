import { evaluateNearly, type Expression } from '../arithmetic/expression.js';
import { readExpression } from '../arithmetic/read-expression.js';
import type { Comparison } from '../shared-settings.js';
import { isDoubtful } from './doubt.js';
import { isEqualAtPoints } from './equal-at-points.js';
import { plainText } from './plain-text.js';
import { readQuantity } from './read-quantity.js';

/**
 * Reads answers that a mark holds in other words: `not 4, it is 5`, `m + n = 204`, `She has 5 apples left`, `five (5)`.
 * Only the text after a mark is read in this way. Each reader returns the answer alone, or null.
 */

type IsReadable = (text: string) => boolean;
type Reader = (text: string, isReadable: IsReadable) => string | null;

/**
 * `isStatement` means that the answer is part of a sentence. If a later sentence has a number too, the answer is one of
 * several.
 */
export type Rewording = { readonly answer: string; readonly isStatement: boolean };

/** Returns the readable answers that the text gives in other words. */
export function inOtherWords(comparison: Comparison, text: string, isReadable: IsReadable): readonly Rewording[] {
  if (comparison === 'text' || text.length > 300) return [];
  const readers = comparison === 'number' ? [...common, ...ofNumbers] : common;
  return readers
    .map((read) => ({ answer: read(text, isReadable) ?? '', isStatement: read === readSentence }))
    .filter(({ answer }) => answer !== '' && !isDoubtful(answer) && isReadable(answer));
}

/** In `17, no wait, 18` the last value counts. Null if the text corrects nothing. */
export function correctionOf(text: string, isReadable: IsReadable): string | null {
  const found =
    /^(.{1,60}?)[\s,.;:–—-]{1,5}(?:(?:oh|oops|hmm|sorry|no|wait|actually|correction|i mean|rather)\b[\s,.:;–—-]{0,5}){1,4}(?:(?:it|that|the answer)(?:['’]s| is| should be| must be)\s+)?(\S.{0,59})$/i.exec(
      text,
    );
  const [first, last] = [found?.[1] ?? '', withoutFullStop(found?.[2] ?? '')];
  return isReadable(first) && !isDoubtful(last) && isReadable(last) ? last : null;
}

function withoutFullStop(text: string): string {
  return text.trim().replace(/[.!]$/, '');
}

/** Reads `not 4, it is 5` and `not 4 but 5`. Both values must be readable, so `not clear, but 5` gives none. */
const readContrast: Reader = (text, isReadable) => {
  const found =
    /^(?:[a-z]{2,12}ly )?not\s+([^,;]{1,40}?)(?:[,;]|\s[-–—])?\s+(?:(?:but|it(?:['’]s| is| must be)|rather|instead)\b,?\s*){1,3}(.{1,60})$/i.exec(
      text,
    );
  return found?.[1] !== undefined && isReadable(found[1]) ? withoutFullStop(found[2] ?? '') : null;
};

/** Reads `<5>`, which has the brackets of a template. */
const readPlaceholder: Reader = (text) => /^<([^<>]{1,40})>\.?$/.exec(text)?.[1] ?? null;

/** Reads `2\sqrt{2} \approx 2.83`: a formula with its decimal value, rounded or truncated. */
const readApproximated: Reader = (text) => {
  const sides = text.split(/\\approx(?:eq)?(?![a-zA-Z])|≈/);
  const [exact, decimal] = sides.map((side) => plainText(side.replaceAll('$', '')));
  if (sides.length !== 2 || exact === undefined || decimal === undefined) return null;
  const numeral = /^\d{1,15}(?:\.(\d{1,15}))?\.?$/.exec(decimal);
  const of = readExpression(exact, { hasAlgebra: true });
  if (numeral === null || of === null) return null;
  const unit = 10 ** -(numeral[1]?.length ?? 0);
  const rest = nearly(of) - Number.parseFloat(decimal);
  const isRounded = Math.abs(rest) <= unit * 0.500001;
  return isRounded || (unit < 1 && rest > 0 && rest < unit) ? (sides[0] ?? null) : null;
};

/** Returns NaN if the formula has variables. */
function nearly(of: Expression): number {
  return evaluateNearly(of, (name) => ({ pi: Math.PI, e: Math.E })[name] ?? Number.NaN);
}

/**
 * Reads the last side of `m + n = 204` and `125 + 79 = 204`. All sides without variables must have its value. In `12 =
 * 3 * 4` the first side is the answer.
 */
const readLastSide: Reader = (text) => {
  const sides = plainText(text.replaceAll('$', ''))
    .replaceAll(/(?<=\d)\s*x\s*(?=\d)/g, ' * ')
    .split('=')
    .map((side) => side.trim());
  const isFirst =
    sides.length === 2 && readQuantity(sides[1] ?? '') === null && /^[\d\s+*/()×·÷-]+$/.test(sides[1] ?? '');
  const last = (isFirst ? sides.shift() : sides.pop()) ?? '';
  if (sides.length === 0 || sides.length > 4 || readQuantity(last) === null) return null;
  const value = readExpression(numeralOf(last), { hasAlgebra: true });
  return value !== null && sides.every((side) => isSideOf(side, value)) ? last : null;
};

function numeralOf(text: string): string {
  return readQuantity(text)?.value.toFraction() ?? '';
}

function isSideOf(side: string, value: Expression): boolean {
  const words = /^(?:\p{L}[\p{L}\s]{2,40}|(?:m ?)?(?:\\angle|∠) ?[A-Z]{1,3})$/u.test(side);
  if (words) return !isDoubtful(side);
  const of = readExpression(side.replaceAll(/(?<=\d),(?=\d{3}\b)/g, ''), { hasAlgebra: true });
  if (of === null) return false;
  return Number.isNaN(nearly(of)) || isEqualAtPoints(of, value);
}

const amounts =
  '(?:is|are|was|were|equals|has|have|had|makes?|made|earns?|earned|needs?|needed|gets?|got|costs?|pays?|paid|spends?|spent|saves?|saved|sells?|sold|buys?|bought|takes?|took|reads?|eats?|ate|walks?|ran|runs?|weighs?|uses?|used|owes?|collected|received|contains?|remains?|leaves|left with)';
const sentence = new RegExp(
  String.raw`^\p{L}[^\d$€£¥.!?;:=<>≈~]{0,80}?\b${amounts}\s+(?:exactly |only |a total of |equal to |now |still )?((?:[$€£¥]\s?)?-?\d[\d,.]{0,20}(?:/\d{1,9})?%?)((?:\s+\p{L}[\p{L}'’-]*){0,9})(?:\.|(?<=\p{L})!)?$`,
  'u',
);

/**
 * Reads `She has 5 apples left`: a sentence with one number, which follows its verb. The words after the number must
 * read as its unit, and none of them may express doubt.
 */
const readSentence: Reader = (text) => {
  const found = sentence.exec(
    plainText(text.replaceAll(/\\\$/g, '$')).replace(/[*_]{1,3}(?=[\d$])|(?<=\d)[*_]{1,3}/g, ''),
  );
  if (
    found === null ||
    isDoubtful(found[0]) ||
    /\b(?:but|each|per|percent|cannot|no|more|less|fewer|times|as|half|quarter|third|\d of|and|digits?|first|last|previous|before|yesterday|once|initially|originally|earlier)\b/i.test(
      found[0],
    )
  )
    return null;
  const [, numeral = '', words = ''] = found;
  const next = words.trim().split(/\s+/)[0] ?? '';
  const isUnit = next === '' || readQuantity(`1 ${next}`)?.value.equals(1) === true;
  return isUnit ? numeral.replace(/[.,]$/, '') : null;
};

/** Reads `#12` and `Day 12`. */
const readNumbered: Reader = (text) =>
  /^(?:#|No\. |(?:[Dd]ay|[Yy]ear|[Ww]eek|[Nn]umber|[Rr]oom|[Pp]age|[Ff]loor) )(\d{1,15})\.?$/.exec(text)?.[1] ?? null;

const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');

/** Reads `five (5)` if the word and the number agree. */
const readNamed: Reader = (text) => {
  const found = /^([a-z]{3,9})(?:[- ]([a-z]{3,5}))? \((\d{1,2})\)(?: \p{L}{2,20})?\.?$/iu.exec(text);
  const [first, second] = [found?.[1]?.toLowerCase() ?? '', found?.[2]?.toLowerCase()];
  const ten = tens.indexOf(first);
  const value = ten < 0 ? small.indexOf(first) : (ten + 2) * 10 + (second === undefined ? 0 : small.indexOf(second));
  const isNumber = found !== null && (ten >= 0 || second === undefined);
  return isNumber && String(value) === found[3] ? found[3] : null;
};

const common: readonly Reader[] = [readContrast, readPlaceholder, readApproximated];
const ofNumbers: readonly Reader[] = [readLastSide, readSentence, readNumbered, readNamed];
