import Fraction from 'fraction.js';
import { plainText } from './plain-text.js';

/** A number with its unit; `unit` is '' if there is none. */
export type Quantity = { readonly value: Fraction; readonly unit: string };

const digits = String.raw`(?:\d{1,3}(?:[, \u00a0']\d{3})+|\d{1,60})`;
const decimal = String.raw`${digits}(?:\.\d{0,60})?|\.\d{1,60}`;
const shape = new RegExp(
  String.raw`^(?<sign>[-+]?)\s*(?<before>[$€£¥]?)\s*(?:(?<whole>\d{1,60})\s+(?=\d+\s*\/))?` +
    String.raw`(?<top>${decimal})(?:\s*\/\s*(?<bottom>${decimal}))?` +
    String.raw`(?:(?:e(?<exponent>[-+]?\d{1,2}))|(?:\s*[x*×]\s*10\s*\^\s*\(?(?<power>[-+]?\d{1,2})\)?))?` +
    String.raw`\s*(?<unit>[^\d\s.,;:!?()=+*/^-][^\d=+*]{0,30})?$`,
  'iu',
);

/**
 * Reads `1,234.5 km`, `-3/4`, `2 1/2`, `1.2e3`, `$5`, `50%` and `\frac{1}{2}` exactly. A comma or a space separates thousands, and is
 * refused elsewhere: `1,5` is nobody's 15. Null if the text is not one number.
 */
export function readQuantity(text: string): Quantity | null {
  if (text.length > 300) return null;
  const plain = withoutOuterMarks(plainText(text));
  const groups = shape.exec(plain)?.groups;
  if (groups === undefined) return null;
  const value = valueOf(groups);
  if (value === null) return null;
  const unit = [groups['before'] ?? '', groups['unit'] ?? ''].join('').trim().replaceAll(/[{}]/g, '');
  return /\b(?:or|and|not|to)\b/i.test(unit) ? null : { value, unit };
}

function valueOf(groups: Readonly<Record<string, string | undefined>>): Fraction | null {
  const bottom = toFraction(groups['bottom'] ?? '1');
  if (bottom.equals(0)) return null;
  const whole = toFraction(groups['whole'] ?? '0');
  const exponent = Number(groups['exponent'] ?? groups['power'] ?? 0);
  const size = whole
    .add(toFraction(groups['top'] ?? '0').div(bottom))
    .mul(new Fraction(10).pow(exponent) ?? new Fraction(1));
  return groups['sign'] === '-' ? size.neg() : size;
}

function toFraction(numeral: string): Fraction {
  return new Fraction(numeral.replaceAll(/[, \u00a0']/g, '').replace(/\.$/, ''));
}

/** Without what sentences and formulas put around a number: `$5$`, `**5**`, `(5)`, `x = 5`, `5.`. */
function withoutOuterMarks(text: string): string {
  let bare = text
    .replace(/[.,;!]+$/, '')
    .replaceAll(/\((-?[\d.]+)\)\s*\/\s*\(([\d.]+)\)/g, '$1/$2')
    .trim();
  bare = bare.replace(/^[a-zA-Z]\w{0,20}\s*=\s*(?=[-+.\d$€£¥(])/, '');
  for (const [open, close] of [
    ['$$', '$$'],
    ['$', '$'],
    ['**', '**'],
    ['`', '`'],
    ['"', '"'],
    ['(', ')'],
    ['{', '}'],
  ] as const)
    if (bare.length > open.length + close.length && bare.startsWith(open) && bare.endsWith(close))
      bare = bare.slice(open.length, -close.length).trim();
  return bare;
}
