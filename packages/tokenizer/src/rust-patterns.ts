import { isJsonObject } from '@agentjet/core';

/**
 * Splits text as the Rust library does. The JavaScript library translates the patterns of a tokenizer.json, but its
 * built-in patterns use ASCII digits, ASCII words, and JavaScript's whitespace, which includes U+FEFF and lacks U+0085.
 */

const space = String.raw`\p{White_Space}`;
/** `\w` of Rust's regular expressions. */
const wordCharacter = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`;

const byteLevel = new RegExp(
  String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^${space}\p{L}\p{N}]+|${space}+(?!\P{White_Space})|${space}+`,
  'gu',
);
const words = new RegExp(`[${wordCharacter}]+|[^${wordCharacter}${space}]+`, 'gu');
const betweenSpaces = /\P{White_Space}+/gu;

export const isSpace = /^\p{White_Space}$/u;
export const endsWithWord = new RegExp(`[${wordCharacter}]$`, 'u');
export const startsWithWord = new RegExp(`^[${wordCharacter}]`, 'u');

export type PreTokenizer = {
  pattern?: RegExp | null;
  pre_tokenize_text?(text: string): string[];
  readonly tokenizers?: readonly PreTokenizer[];
};

/** Sets the patterns of a pre-tokenizer; `config` is its section of tokenizer.json. */
export function splitAsRust(preTokenizer: PreTokenizer, config: unknown): void {
  if (!isJsonObject(config)) return;
  switch (config['type']) {
    case 'Sequence': {
      const steps: unknown = config['pretokenizers'];
      preTokenizer.tokenizers?.forEach((step, at) => splitAsRust(step, Array.isArray(steps) ? steps[at] : undefined));
      break;
    }
    case 'Split':
      if (preTokenizer.pattern && JSON.stringify(config['pattern'] ?? '').includes('(?i'))
        preTokenizer.pattern = new RegExp(withFoldedLetters(preTokenizer.pattern.source), preTokenizer.pattern.flags);
      break;
    case 'ByteLevel':
      preTokenizer.pattern = byteLevel;
      break;
    case 'Digits':
      preTokenizer.pattern = config['individual_digits'] === true ? /\P{N}+|\p{N}/gu : /\P{N}+|\p{N}+/gu;
      break;
    case 'Whitespace':
      preTokenizer.pre_tokenize_text = (text) => text.match(words) ?? [];
      break;
    case 'WhitespaceSplit':
      preTokenizer.pre_tokenize_text = (text) => text.match(betweenSpaces) ?? [];
      break;
    case 'BertPreTokenizer':
      if (preTokenizer.pattern)
        preTokenizer.pattern = new RegExp(preTokenizer.pattern.source.replace(String.raw`\s`, space), 'gu');
      break;
  }
}

/**
 * Adds the letters that a case-insensitive pattern of Rust also matches: `(?i:s)` matches the long s, and `(?i:k)` the
 * kelvin sign. The JavaScript library writes only both cases of ASCII letters.
 */
function withFoldedLetters(source: string): string {
  return source.replaceAll(/\[([a-zA-Z]+)\]/g, (letters, inside: string) => {
    const long = /s/.test(inside) && /S/.test(inside) ? '\u017F' : '';
    const kelvin = /k/.test(inside) && /K/.test(inside) ? '\u212A' : '';
    return long + kelvin === '' ? letters : `[${inside}${long}${kelvin}]`;
  });
}
