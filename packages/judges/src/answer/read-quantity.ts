import Fraction from 'fraction.js';
import { plainText } from './plain-text.js';
import { isKnownUnit } from './same-unit.js';

/** A number with its unit. `unit` is '' if there is none. Per cent is a unit. */
export type Quantity = { readonly value: Fraction; readonly unit: string };

const grouped = String.raw`\d{1,3}(?:,\d{3})+|\d{1,3}(?:[ \u00a0]\d{3})+|\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+`;
const decimal = String.raw`(?:${grouped}|\d{1,60})(?:\.\d{0,60})?|\.\d{1,60}`;
const size = String.raw`\s*(?:[Hh]undred|[Tt]housand|[Mm]illion|[Bb]illion|[Tt]rillion)|[kKMB]`;
const shape = new RegExp(
  String.raw`^(?<sign>[-+]|[Mm]inus\b|[Nn]egative\b|[Pp]lus\b)?\s*(?:(?<before>(?:US|AU|CA|A|C)?\$|[€£¥₹]|(?:USD|EUR|GBP|INR|Rs\.?)(?=\s*[\d-]))\s*(?<innerSign>-)?)?` +
    String.raw`(?:(?<whole>\d{1,60})(?:\s+|\s+and\s+)(?=\d+\s*/))?` +
    String.raw`(?<top>${decimal})(?:\s*/\s*(?<bottom>${decimal})(?![\d.]))?` +
    String.raw`(?:[eE](?<exponent>[-+]?\d{1,2})(?!\d)|(?:\s*[x*×·⋅]\s*(?<times>10)\s*(?:\^|\*\*)\s*|(?<=(?:^|[^\d.,])10)(?:\^|\*\*)\s*)[({]?\s*(?<power>[-+]?\d{1,2})\s*[)}]?(?!\d))?` +
    String.raw`(?:(?<=[\d.])(?<size>${size})(?![a-zA-Z]))?` +
    String.raw`(?<gap>\s*)(?<unit>[^\d\s.,;:!?=+*_-].{0,59})?$`,
  'u',
);

const sizes: Readonly<Record<string, number>> = {
  hundred: 1e2,
  thousand: 1e3,
  k: 1e3,
  million: 1e6,
  m: 1e6,
  billion: 1e9,
  b: 1e9,
  trillion: 1e12,
};

/**
 * Reads `1,234.5 km`, `-3/4`, `2 1/2`, `1.2e3`, `10^5`, `1 million`, `$5`, `50%` and `\frac{1}{2}` exactly. A comma or
 * a space may only separate thousands: `1,5` is refused, because it might mean 1.5 or 15. Null if the text is not one
 * number with at most one unit.
 */
export function readQuantity(text: string): Quantity | null {
  if (text.length > 300) return null;
  const groups = shape.exec(bareNumber(plainText(text.replace(/^\s*\$(-?\\\$[^$]*)\$/, '$1'))))?.groups;
  if (groups === undefined) return null;
  const unit = readUnit(`${groups['before'] ?? ''} ${groups['unit'] ?? ''}`.trim());
  const isApart = groups['gap'] !== '' || isAttachable(unit ?? '');
  const value = unit === null || !isApart ? null : valueOf(groups);
  return value === null || unit === null ? null : { value, unit };
}

function valueOf(groups: Readonly<Record<string, string | undefined>>): Fraction | null {
  const bottom = toFraction(groups['bottom'] ?? '1');
  if (bottom.equals(0)) return null;
  const top = toFraction(groups['top'] ?? '0');
  const power = Number(groups['exponent'] ?? groups['power'] ?? 0);
  const ten = new Fraction(10).pow(power) ?? new Fraction(1);
  const isPowerAlone = groups['power'] !== undefined && groups['times'] === undefined;
  const value = toFraction(groups['whole'] ?? '0')
    .add(isPowerAlone ? ten : top.div(bottom).mul(ten))
    .mul(sizes[groups['size']?.trim().toLowerCase() ?? ''] ?? 1);
  const isNegative = /^(?:-|minus|negative)/i.test(groups['sign'] ?? '') !== (groups['innerSign'] !== undefined);
  return isNegative ? value.neg() : value;
}

function toFraction(numeral: string): Fraction {
  return new Fraction(numeral.replaceAll(/[, \u00a0'_]/g, '').replace(/\.$/, ''));
}

/** Accepts `5km` and `5%`, but not `5ish` and `5ths`. */
function isAttachable(unit: string): boolean {
  const words = unit.match(/\p{L}+/gu) ?? [];
  return !/^\p{L}/u.test(unit) || words.every((word) => word.length === 1 || isHan(word) || isKnownUnit(word));
}

function isHan(word: string): boolean {
  return /^\p{Script=Han}+$/u.test(word);
}

/** `42万` means 420,000, and `42以上` means at least 42. */
const noHanUnit = /^[万亿百十兆萬億]|^千(?![克米瓦])|[或和到至加减乘不非错以上下多左约]/;

/** Words that are not units. They show that there is more than one number, or that the number is not the answer. */
const notUnits = new Set(
  (
    'or and not to no is are was were be been am has have had do does did can could may might must should would will shall but ' +
    'because if then than so that which who what when where why how it this these those i you he she they we maybe perhaps possibly ' +
    'probably approximately about around almost nearly roughly more less fewer least most over under above below until through from ' +
    'plus minus times divided mod wrong incorrect false correct right answer ways? point half third quarter dozen hundred thousand ' +
    'million billion trillion hundreds thousands millions one two three four five six seven eight nine ten eleven twelve twenty thirty ' +
    'st nd rd th squared cubed factorial pi sqrt sin cos tan ln log exp abs binom mill k either neither nor except unless instead versus vs ' +
    'oder ou или nicht falsch faux не неверно'
  ).split(' '),
);
/** Names of months. `12 November` is a day, and not a number with a unit. */
const months = new Set(
  'January February March April May June July August September October November December'.split(' '),
);
/** Single letters that are units. Other letters are variables, as in `5x`. */
const unitLetters = new Set('gmslhLNJWVACFKdtTPΩμµ');

/** The words of a unit. Null if they are not a unit. */
function readUnit(text: string): string | null {
  const unit = text
    .replaceAll(/[{}"'`*]|(?<=\bleft) over$/g, '')
    .replace(/^\((.*)\)$/, '$1')
    .replace(/^(?:more|fewer)\s+(?=\p{L})/u, '')
    .replaceAll(/(?<=[/·(]\s?)K(?![a-zA-Z])|K(?=[\^)])/g, 'kelvin')
    .trim();
  if (unit === '') return '';
  if (/%.*%/.test(unit)) return null;
  if (!/^[\p{L}\p{Sc}°%/µ][\p{L}\p{Sc}°%/·.()^\s\d'’-]*$/u.test(unit)) return null;
  if (/\d/.test(unit.replaceAll(/(?:\^\(?-?|(?<=\p{L}))\d\)?/gu, ''))) return null;
  // "clips in April and May" are clips, but "apples and pears" are two things.
  const words = unit.replaceAll(/(?<=\p{Lu}\p{L}*) and (?=\p{Lu})/gu, ' ').match(/\p{L}+/gu) ?? [];
  if (months.has(words[0] ?? '')) return null;
  if (words.length > 6 || words.some((word) => word !== 'May' && notUnits.has(word.toLowerCase()))) return null;
  if (
    words.some(
      (word) =>
        /\p{Lo}/u.test(word) && (noHanUnit.test(word) || !/^(?:\p{Script=Han}+|\p{Script=Hangul})$/u.test(word)),
    )
  )
    return null;
  const isVariable = (word: string) =>
    word.length === 1 && !/\p{Lo}/u.test(word) && !unitLetters.has(word) && (word !== 'a' || words.length === 1);
  return words.some(isVariable) ? null : unit;
}

const around = [
  ['$$', '$$'],
  ['$', '$'],
  ['**', '**'],
  ['__', '__'],
  ['`', '`'],
  ['"', '"'],
  ["'", "'"],
  ['[', ']'],
  ['(', ')'],
  ['{', '}'],
] as const;

/** Removes what sentences and formulas put around a number: `$5$`, `**5**`, `(5)`, `x = 5`, `5.`. */
function bareNumber(text: string): string {
  let bare = text
    .replace(/^(\*\*|\$)([^*$]{1,40})\1(?=\s)/, '$2')
    .replaceAll(/\^\s*(?:\(°\)|°)/g, '°')
    .replaceAll(/\(\(?(-?[\d.,]{1,60})\)\s*\/\s*\((-?[\d.,]{1,60})\)\)?/g, (_, top: string, bottom: string) =>
      fraction(top, bottom),
    );
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare
      .trim()
      .replace(/(?<![.])[.,;]$/, '')
      .replace(/^(?:[a-zA-Z]\w{0,20}\s*)?=\s*(?=[-+.\d$€£¥(])/, '');
    for (const [open, close] of around)
      if (
        bare.length > open.length + close.length &&
        bare.startsWith(open) &&
        bare.endsWith(close) &&
        !bare.slice(open.length, -close.length).includes(open.slice(0, 1))
      )
        bare = bare.slice(open.length, -close.length);
  }
  return withoutDots(bare.replace(/^(?:[a-zA-Z]\w{0,20}\s*)?=\s*/, ''));
}

/** `1.000.000` has two separators, so they separate thousands and are not decimal points. */
function withoutDots(text: string): string {
  return text.replace(/(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3}){2,8}(?![\d.,])/, (digits) => digits.replaceAll('.', ''));
}

/** A sign of the denominator becomes the sign of the fraction. */
function fraction(top: string, bottom: string): string {
  const isNegative = top.startsWith('-') !== bottom.startsWith('-');
  return `${isNegative ? '-' : ''}${top.replace('-', '')}/${bottom.replace('-', '')}`;
}
