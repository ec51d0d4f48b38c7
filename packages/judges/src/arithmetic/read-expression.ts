import Fraction from 'fraction.js';
import { functionNames, type Expression, type FunctionName, type Operator } from './expression.js';

/**
 * Parses the formulas of a model that must not be trusted. Nothing is executed, and length and depth are limited, so no
 * text can make the parser slow or overflow its stack.
 *
 * sum = product { (+ | -) product }; product = signed { (* | / | nothing) signed }; signed = { + | - } power;
 * power = factorial [ ^ signed ]; factorial = atom { ! };
 * atom = numeral | variable | function atom | log_base atom | binom(sum, sum) | ( sum ) | [ sum ] | { sum }
 *   | '|' sum '|'
 */

export type Grammar = {
  /**
   * True allows signs before a number, powers, variables, functions, and products without a sign. False allows only + -
   * * / and brackets.
   */
  readonly hasAlgebra: boolean;
};

const maxLength = 2000;
const maxDepth = 100;
const numeral = /^(?:\d{1,100}(?:\.\d{0,100})?|\.\d{1,100})/;
const letter = /[a-zA-Zα-ωΔΩ∞]/u;
const word = /^[a-zA-Zα-ωΔΩ∞]+/u;
const variableName = /^[a-zA-Zα-ωΔΩ∞](?:_(?:\{[a-zA-Z0-9,]{1,10}\}|[a-zA-Z0-9]))?/u;
/** Functions that take a single factor. */
const roots: ReadonlySet<FunctionName> = new Set(['sqrt', 'cbrt']);
const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Returns null if the text does not follow this grammar. */
export function readExpression(text: string, grammar: Grammar): Expression | null {
  if (text.length > maxLength) return null;
  const reader = new ExpressionReader(plainSigns(text), grammar);
  try {
    return reader.readAll();
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function plainSigns(text: string): string {
  return text
    .replaceAll(/[×·∙⋅]/g, '*')
    .replaceAll(/[÷∕]/g, '/')
    .replaceAll(/[−–]/g, '-')
    .replaceAll('√', ' sqrt')
    .replaceAll('**', '^');
}

class Unreadable extends Error {}

class ExpressionReader {
  readonly #text: string;
  readonly #grammar: Grammar;
  #at = 0;
  #depth = 0;
  #bars = 0;

  constructor(text: string, grammar: Grammar) {
    this.#text = text;
    this.#grammar = grammar;
  }

  readAll(): Expression {
    const expression = this.#sum();
    if (this.#next() !== '') throw new Unreadable();
    return expression;
  }

  /** The next character that is not a space, or '' at the end. */
  #next(): string {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
    return this.#text[this.#at] ?? '';
  }

  #sum(): Expression {
    let left = this.#product();
    for (let sign = this.#next(); sign === '+' || sign === '-'; sign = this.#next()) {
      this.#at++;
      left = operation(sign, left, this.#product());
    }
    return left;
  }

  #product(): Expression {
    let left = this.#signed();
    for (;;) {
      const sign = this.#next();
      if (sign === '*' || sign === '/') {
        this.#at++;
        left = operation(sign, left, this.#signed());
      } else if (this.#grammar.hasAlgebra && this.#beginsFactor(sign)) {
        left = operation('*', left, this.#power());
      } else return left;
    }
  }

  /**
   * Whether the character may follow a factor without a sign. A bar may do so only if no bar is open: in `|x|` the
   * second one closes.
   */
  #beginsFactor(sign: string): boolean {
    return sign === '|' ? this.#bars === 0 : letter.test(sign) || closing[sign] !== undefined;
  }

  #signed(): Expression {
    const sign = this.#next();
    if (!this.#grammar.hasAlgebra || (sign !== '-' && sign !== '+')) return this.#power();
    this.#at++;
    const of = this.#deeper(() => this.#signed());
    return sign === '-' ? { kind: 'negation', of } : of;
  }

  #power(): Expression {
    const base = this.#factorial();
    return this.#raisedTo(base);
  }

  #raisedTo(base: Expression): Expression {
    if (!this.#grammar.hasAlgebra || this.#next() !== '^') return base;
    this.#at++;
    return operation(
      '^',
      base,
      this.#deeper(() => this.#signed()),
    );
  }

  #factorial(): Expression {
    let of = this.#atom();
    for (let count = 0; this.#grammar.hasAlgebra && this.#next() === '!'; this.#at++) {
      if (++count > 1) throw new Unreadable();
      of = { kind: 'call', name: 'factorial', of };
    }
    return of;
  }

  #atom(): Expression {
    const first = this.#next();
    const close = first === '{' && !this.#grammar.hasAlgebra ? undefined : closing[first];
    if (close !== undefined) return this.#bracketed(close);
    if (first === '|' && this.#grammar.hasAlgebra) return this.#absolute();
    const rest = this.#text.slice(this.#at, this.#at + 210);
    const number = numeral.exec(rest)?.[0];
    if (number !== undefined) {
      this.#at += number.length;
      return { kind: 'number', value: new Fraction(number) };
    }
    const name = this.#grammar.hasAlgebra ? word.exec(rest)?.[0] : undefined;
    if (name === undefined) throw new Unreadable();
    return this.#named(name);
  }

  #bracketed(close: string): Expression {
    this.#at++;
    const inside = this.#deeper(() => this.#sum());
    if (this.#next() !== close) throw new Unreadable();
    this.#at++;
    return inside;
  }

  #absolute(): Expression {
    this.#bars++;
    const of = this.#bracketed('|');
    this.#bars--;
    return { kind: 'call', name: 'abs', of };
  }

  /** Reads a function with its argument, a constant, or the first letter of a product of variables. */
  #named(letters: string): Expression {
    if (letters.startsWith('binom')) return this.#binomial();
    const name = functionNames.find((known) => letters.startsWith(known));
    if (name !== undefined) return this.#call(name);
    if (letters.startsWith('pi')) return this.#variable('pi');
    return this.#variable(variableName.exec(this.#text.slice(this.#at, this.#at + 20))?.[0] ?? letters.slice(0, 1));
  }

  #variable(name: string): Expression {
    this.#at += name.length;
    return { kind: 'variable', name: name === 'π' ? 'pi' : name.replaceAll(/[{}]/g, '') };
  }

  /** `log_2(8)` is a quotient of logarithms, and `sin^2 x` is the square of a sine. */
  #call(name: FunctionName): Expression {
    this.#at += name.length;
    const base = name === 'log' && this.#next() === '_' ? this.#logBase() : null;
    const power = this.#next() === '^' ? this.#raisedTo({ kind: 'number', value: new Fraction(1) }) : null;
    const of = this.#deeper(() => this.#argument(name));
    const value: Expression =
      base === null
        ? { kind: 'call', name, of }
        : operation('/', { kind: 'call', name: 'ln', of }, { kind: 'call', name: 'ln', of: base });
    if (power?.kind !== 'operation') return value;
    if (power.right.kind === 'negation') return inverse(name, power.right.of, of);
    return operation('^', value, power.right);
  }

  #logBase(): Expression {
    this.#at++;
    return this.#deeper(() => this.#atom());
  }

  /** Computes n! / (k! (n - k)!). */
  #binomial(): Expression {
    this.#at += 'binom'.length;
    if (this.#next() !== '(') throw new Unreadable();
    this.#at++;
    const top = this.#deeper(() => this.#sum());
    if (this.#next() !== ',') throw new Unreadable();
    this.#at++;
    const bottom = this.#deeper(() => this.#sum());
    if (this.#next() !== ')') throw new Unreadable();
    this.#at++;
    const factorial = (of: Expression): Expression => ({ kind: 'call', name: 'factorial', of });
    const below = operation('*', factorial(bottom), factorial(operation('-', top, bottom)));
    return operation('/', factorial(top), below);
  }

  /**
   * `sin(x)^2` is the square of a sine, and `sin x^2` is the sine of a square. `sin 2x` is the sine of a product, but
   * `sqrt 2x` is a root times x.
   */
  #argument(name: FunctionName): Expression {
    const first = this.#next();
    if (closing[first] !== undefined && first !== '{') return this.#atom();
    let of = this.#power();
    while (!roots.has(name) && this.#beginsVariable()) of = operation('*', of, this.#power());
    return of;
  }

  /**
   * Whether a factor of the argument follows. The `i` of `sin t i` and the `e` of `sin x e^x` are not part of the
   * argument.
   */
  #beginsVariable(): boolean {
    const first = this.#next();
    if (!letter.test(first) || first === 'e' || first === 'i') return false;
    const letters = word.exec(this.#text.slice(this.#at, this.#at + 20))?.[0] ?? '';
    return !['binom', ...functionNames].some((known) => letters.startsWith(known));
  }

  #deeper(read: () => Expression): Expression {
    if (++this.#depth > maxDepth) throw new Unreadable();
    const expression = read();
    this.#depth--;
    return expression;
  }
}

/** `sin^{-1} x` is the inverse function. Books disagree about other negative powers before an argument. */
function inverse(of: FunctionName, power: Expression, argument: Expression): Expression {
  const name = functionNames.find((known) => known === `arc${of}`);
  const isOne = power.kind === 'number' && power.value.equals(1);
  if (name === undefined || !isOne) throw new Unreadable();
  return { kind: 'call', name, of: argument };
}

function operation(operator: Operator, left: Expression, right: Expression): Expression {
  return { kind: 'operation', operator, left, right };
}
