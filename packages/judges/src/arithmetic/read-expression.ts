import Fraction from 'fraction.js';
import { functionNames, type Expression, type FunctionName, type Operator } from './expression.js';

/**
 * A parser for the formulas of a model that must not be trusted: nothing is executed, and length and depth are limited, so that
 * no text makes it slow or overflows its stack.
 *
 * sum = product { (+ | -) product }; product = signed { (* | / | nothing) signed }; signed = { + | - } power;
 * power = atom [ ^ signed ]; atom = numeral | variable | function atom | ( sum ) | [ sum ]
 */

export type Grammar = {
  /** True: signs before a number, powers, variables, functions, and products without a sign. False: + - * / and brackets alone. */
  readonly hasAlgebra: boolean;
};

const maxLength = 2000;
const maxDepth = 100;
const numeral = /^(?:\d{1,100}(?:\.\d{0,100})?|\.\d{1,100})/;
const word = /^[a-zA-Zα-ωπ]+/u;
const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']' };

/** Null if the text is not such a formula. */
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
    .replaceAll('**', '^');
}

class Unreadable extends Error {}

class ExpressionReader {
  readonly #text: string;
  readonly #grammar: Grammar;
  #at = 0;
  #depth = 0;

  constructor(text: string, grammar: Grammar) {
    this.#text = text;
    this.#grammar = grammar;
  }

  readAll(): Expression {
    const expression = this.#sum();
    if (this.#next() !== '') throw new Unreadable();
    return expression;
  }

  /** The next character that is not a space; '' at the end. */
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
      } else if (this.#grammar.hasAlgebra && /[a-zA-Zα-ω([]/u.test(sign)) {
        left = operation('*', left, this.#power());
      } else return left;
    }
  }

  #signed(): Expression {
    const sign = this.#next();
    if (!this.#grammar.hasAlgebra || (sign !== '-' && sign !== '+')) return this.#power();
    this.#at++;
    const of = this.#deeper(() => this.#signed());
    return sign === '-' ? { kind: 'negation', of } : of;
  }

  #power(): Expression {
    const base = this.#atom();
    if (!this.#grammar.hasAlgebra || this.#next() !== '^') return base;
    this.#at++;
    return operation(
      '^',
      base,
      this.#deeper(() => this.#signed()),
    );
  }

  #atom(): Expression {
    const first = this.#next();
    const close = closing[first];
    if (close !== undefined) return this.#bracketed(close);
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

  /** A function with its argument, a constant, or the first letter of a product of variables. */
  #named(letters: string): Expression {
    const name = functionNames.find((known) => letters.startsWith(known));
    if (name !== undefined) return this.#call(name);
    const variable = letters.startsWith('pi') ? 'pi' : letters.slice(0, 1);
    this.#at += variable.length;
    return { kind: 'variable', name: variable === 'π' ? 'pi' : variable };
  }

  #call(name: FunctionName): Expression {
    this.#at += name.length;
    return { kind: 'call', name, of: this.#deeper(() => this.#argument()) };
  }

  /** `sin(x)^2` is the square of a sine; `sin x^2` the sine of a square. */
  #argument(): Expression {
    return closing[this.#next()] === undefined ? this.#power() : this.#atom();
  }

  #deeper(read: () => Expression): Expression {
    if (++this.#depth > maxDepth) throw new Unreadable();
    const expression = read();
    this.#depth--;
    return expression;
  }
}

function operation(operator: Operator, left: Expression, right: Expression): Expression {
  return { kind: 'operation', operator, left, right };
}
