import Fraction from 'fraction.js';

/**
 * Converts the LaTeX and typography of answers to plain characters: `\frac{a}{b}` becomes `((a)/(b))`, and `\sqrt 3`
 * becomes `sqrt(3)`. Words of `\text{}` are kept separate from the formula, between two marks. Unknown parts are
 * unchanged.
 */

/**
 * Marks around the words of `\text{}`. They are characters of Unicode's private use area. The conversion first removes
 * such characters from its input, so none of them is taken for a mark.
 */
export const wordsOpen = '\uE000';
export const wordsClose = '\uE001';

const maxDepth = 60;

/** The plain form, with the words of `\text{}` between `wordsOpen` and `wordsClose`. */
export function plainFormula(text: string): string {
  const plain = plainCharacters(text);
  const formula = plain.includes('\\') || plain.includes('{') ? new LatexReader(plain).readAll() : plain;
  return formula.replaceAll(/\s+/g, ' ').trim();
}

/** The plain form, with the words of `\text{}` like any other words. */
export function plainText(text: string): string {
  return withoutWordMarks(plainFormula(text));
}

export function withoutWordMarks(text: string): string {
  return text
    .replaceAll(/[\uE000\uE001]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ';
const subscripts = '₀₁₂₃₄₅₆₇₈₉';

/**
 * Runs before the text is normalized to compatibility forms of Unicode, which would turn `10⁵` into 105 and `1½` into
 * 11/2.
 */
function plainCharacters(text: string): string {
  return text
    .replaceAll(/[\uE000\uE001\u200B-\u200D\u2060\uFEFF]/g, '')
    .replaceAll(/(?![❌❎❓❔])\p{Emoji_Presentation}|[✔☑✓]|\uFE0F/gu, ' ')
    .replaceAll(/(?<![\d.,])(\d{0,60}\.\d{0,60})\\(?:overline|bar|dot)\s?(?:(\d)|\{(\d{1,60})\})/g, repeating)
    .replaceAll(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]{1,20}/g, (power) => `^(${digitsOf(power, superscripts, '0123456789+-n')})`)
    .replaceAll(/[₀₁₂₃₄₅₆₇₈₉]{1,20}/g, (index) => `_${digitsOf(index, subscripts, '0123456789')}`)
    .replaceAll(/[¼½¾⅐-⅞]/g, (fraction) => ` ${fraction.normalize('NFKC')}`)
    .normalize('NFKC')
    .replaceAll('\u2044', '/')
    .replaceAll(/[−–—‐‑﹣]/g, '-')
    .replaceAll(/[“”„]/g, '"')
    .replaceAll(/[‘’′]/g, "'");
}

/** Converts `0.\overline{3}` to `\frac{1}{3}`. */
function repeating(_: string, digits: string, one = '', several = one): string {
  const { n, d } = new Fraction(`0${digits}(${several})`);
  return String.raw`\frac{${n}}{${d}}`;
}

function digitsOf(text: string, from: string, to: string): string {
  return [...text].map((character) => to.charAt(from.indexOf(character))).join('');
}

/** Commands that mean a sign. */
const signs: Readonly<Record<string, string>> = {
  cdot: '*',
  times: '*',
  ast: '*',
  div: '/',
  pm: '±',
  mp: '±',
  le: '≤',
  leq: '≤',
  leqslant: '≤',
  ge: '≥',
  geq: '≥',
  geqslant: '≥',
  lt: '<',
  gt: '>',
  ne: '≠',
  neq: '≠',
  in: '∈',
  cup: '∪',
  cap: '∩',
  infty: '∞',
  approx: '≈',
  approxeq: '≈',
  sim: '~',
  degree: '°',
  lbrace: '{',
  rbrace: '}',
  lbrack: '[',
  rbrack: ']',
  langle: '(',
  rangle: ')',
  vert: '|',
  lvert: '|',
  rvert: '|',
  mid: '|',
  emptyset: '∅',
  varnothing: '∅',
  setminus: '∖',
  backslash: '∖',
  to: '→',
  rightarrow: '→',
  Rightarrow: '⇒',
  implies: '⇒',
  therefore: '∴',
  pounds: '£',
  euro: '€',
  prime: "'",
  colon: ':',
  percent: '%',
  dollar: '$',
  lor: ' or ',
  land: ' and ',
}; // prettier-ignore
const greek =
  'alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi φ varphi φ chi χ psi ψ omega ω Delta Δ Omega Ω'.split(
    ' ',
  );
const greekOf = new Map(greek.flatMap((name, at) => (at % 2 === 0 ? [[name, greek[at + 1] ?? ''] as const] : [])));
const functions = new Set(
  'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp max min gcd lcm'.split(' '),
);
/** Commands that are dropped. */
const silent = new Set(
  'left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits quad qquad hspace nolimits boldmath'.split(
    ' ',
  ),
);
const wordCommands = new Set('text textrm textup textnormal mbox hbox textit'.split(' '));
/** Commands that are replaced by their argument. */
const faces = new Set(
  'mathrm mathbf textbf mathit mathsf mathtt texttt textsf boldsymbol bm operatorname emph underline ensuremath mathbb mathcal boxed fbox'.split(
    ' ',
  ),
);
const spaces = new Set([',', ';', ':', ' ', '>', '/', '\n', '~']);

/** Reads the text in one pass from left to right. A group that is never closed ends with the text. */
class LatexReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): string {
    const parts: string[] = [];
    while (this.#at < this.#text.length) parts.push(this.#piece());
    return parts.join('');
  }

  /** The next command, group or character. */
  #piece(): string {
    const character = this.#text.charAt(this.#at);
    if (character === '\\') return this.#command();
    if (character === '{') return this.#inBraces((inside) => (inside === ',' ? ',' : `{${inside}}`));
    this.#at++;
    if (character === '~')
      return this.#text.charAt(this.#at - 2) === '' || /\d/.test(this.#text.charAt(this.#at)) ? '~' : ' ';
    if (character === '^' || character === '_') return `${character}${this.#raised(character)}`;
    return character;
  }

  #inBraces(write: (inside: string) => string): string {
    this.#at++;
    if (++this.#depth > maxDepth) {
      this.#at = this.#text.length;
      return '{';
    }
    const parts: string[] = [];
    while (this.#at < this.#text.length && this.#text.charAt(this.#at) !== '}') parts.push(this.#piece());
    this.#at++;
    this.#depth--;
    return write(parts.join(''));
  }

  /** The text in braces after `^` or `_`, if there is any. An exponent gets brackets, and the degree sign none. */
  #raised(mark: string): string {
    this.#skipSpaces();
    if (this.#text.charAt(this.#at) !== '{') return '';
    const inside = this.#inBraces((content) => content.trim());
    return mark === '^' ? (inside === '°' ? '°' : `(${inside})`) : `{${inside}}`;
  }

  #skipSpaces(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
  }

  /** An argument: a group, a command or one character. */
  #argument(): string {
    this.#skipSpaces();
    const first = this.#text.charAt(this.#at);
    if (first === '{') return this.#inBraces((inside) => inside);
    return first === '' ? '' : this.#piece();
  }

  #command(): string {
    this.#at++;
    const name = /^[a-zA-Z]+\*?/.exec(this.#text.slice(this.#at, this.#at + 30))?.[0];
    if (name === undefined) return this.#escaped();
    this.#at += name.length;
    return this.#named(name);
  }

  #escaped(): string {
    const character = this.#text.charAt(this.#at++);
    if (character === '!') {
      if (this.#text.charAt(this.#at - 3) === ',') this.#skipSpaces();
      return '';
    }
    if (spaces.has(character)) return ' ';
    if (character === '\\') return '\\\\';
    if (character === '{') return '{';
    return '()[]'.includes(character) ? '' : character;
  }

  #named(name: string): string {
    if (/^[dtc]?frac$/.test(name)) return this.#fraction();
    if (/^[dt]?binom$/.test(name)) return `binom((${this.#argument()}),(${this.#argument()}))`;
    if (name === 'sqrt') return this.#root();
    if (name === 'circ') return '°';
    if (name === 'begin' || name === 'end') return `\\${name}{${this.#argument()}}`;
    if (name === 'boxed' || name === 'fbox' || faces.has(name)) return this.#face();
    if (wordCommands.has(name)) return `${wordsOpen}${this.#argument()}${wordsClose}`;
    if (silent.has(name)) return this.#text.charAt(this.#at) === '.' && /left|right/.test(name) ? this.#skipDot() : '';
    if (functions.has(name)) return ` ${name} `;
    const sign = signs[name] ?? greekOf.get(name);
    return sign === undefined ? `\\${name} ` : sign.length > 1 || /[a-zα-ω]/u.test(sign) ? ` ${sign} ` : sign;
  }

  #skipDot(): string {
    this.#at++;
    return '';
  }

  /** Several letters in another typeface are words, such as `\mathrm{cm}`. A single letter is part of the formula. */
  #face(): string {
    const inside = this.#argument();
    return /^[\s~]*[a-zA-Z]{2}/.test(inside) ? `${wordsOpen}${inside}${wordsClose}` : inside;
  }

  /** `1\frac{1}{2}` is a mixed number; `x\frac{1}{2}` is a product. */
  #fraction(): string {
    const before = /(?:^|[^\d.^_}a-zA-Z)])(\d+)\s*$/.exec(
      this.#text.slice(Math.max(0, this.#at - 45), this.#at).replace(/\\[a-zA-Z]+$/, ''),
    );
    const [top, bottom] = [this.#argument().trim(), this.#argument().trim()];
    const isMixed = before !== null && /^\d+$/.test(top) && /^\d+$/.test(bottom);
    return isMixed ? ` ${top}/${bottom}` : `((${top})/(${bottom}))`;
  }

  #root(): string {
    this.#skipSpaces();
    let degree = '';
    if (this.#text.charAt(this.#at) === '[') {
      const close = this.#text.indexOf(']', this.#at);
      degree = close < 0 ? '' : this.#text.slice(this.#at + 1, close).trim();
      this.#at = close < 0 ? this.#text.length : close + 1;
    }
    const inside = this.#argument();
    return degree === '' || degree === '2' ? ` sqrt(${inside})` : ` ((${inside})^(1/(${degree})))`;
  }
}
