import { plainText } from './plain-text.js';

const option =
  /^(?:(?:the\s+)?(?:correct\s+|right\s+|best\s+)?(?:option|choice|letter|answer|statement)\s+)?(?:[(["'`{*_\s]*)([A-Z]|[1-9])(?![A-Za-z0-9]|['’][a-z]|[.,:]\d|\.[A-Z]\.)/;
const small = /^(?:(?:option|choice|letter)\s{1,3})?[\s(["'`{*_]*([a-z])[\s)\]"'`}*_.]*$/;
/** Matches reasons that name another letter or claim nothing. */
const doubt =
  /\bor\s+\(?[A-Z]\b|\b(?:maybe|perhaps|may|might|could|guess|guessing|unsure|not sure|not certain|not know)\b|\?/i;
/** Matches two letters that each begin an option, so the text lists the options. */
const otherOption = /(?:^|\s)[(*]*[A-Z][).:][)*]*(?=\s+\S)/g;

/**
 * Reads the letter or digit of `B`, `(B)`, `B. Paris`, `Option B` or `**B**`. Null if the text chooses none or more
 * than one.
 */
export function readChoice(text: string): string | null {
  if (text.length > 1000) return null;
  const bare = plainText(text).replaceAll('$', '').trim();
  const found = option.exec(capitalFirst(bare));
  if (found?.[1] === undefined) return small.exec(bare)?.[1]?.toUpperCase() ?? null;
  const letter = found[1];
  return isNamedOnly(bare.slice(found[0].length), letter) && !listsOthers(bare) ? letter : null;
}

/**
 * Turns `option B` into `Option B`, because the pattern is for small letters and must not read `option b` as two words
 * of a sentence.
 */
function capitalFirst(text: string): string {
  return text.replace(/^(?:The|Option|Choice|Letter|Answer|Statement|OPTION|CHOICE)\b/, (word) => word.toLowerCase());
}

/** Whether the letter is followed by nothing, or by a sign and the words of the option. */
function isNamedOnly(rest: string, letter: string): boolean {
  if (/^[)\]"'`}*_.:,;!\s]*$/.test(rest)) return true;
  if (/^[)\]"'`}*_]{0,4},?\s+(?:because|since)\s+\S+\s+\S/.test(rest)) return !doubt.test(rest);
  const words = /^(?:[)\]"'`}*_]*[.:)][)\]"'`}*_]*|[)\]"'`}*_]+|\s+[-–—]|\s+(?=\())\s*(\S.*)$/.exec(rest)?.[1];
  return (
    words !== undefined &&
    /[\p{L}\d]/u.test(words) &&
    !(/\d/.test(letter) ? /^[("'*]*[1-9][).:*"']*$/ : /^[("'*]*[A-Z][).:*"']*$/).test(words) &&
    !/^(?:or|and|nor|&|\/|,|[-+*^=<>])\s*\(?(?:[A-Z1-9]\b|not\b)/.test(words) &&
    !(/\d/.test(letter) ? /^\(+[1-9]\b/ : /^\(+(?:[A-Z]\b|not\b)/).test(words) &&
    !/^\([^()]*\)\s*(?:or|and|[,;/])\s*\(?[A-Z]\b/.test(words) &&
    !/^\(?(?:or|and|nor|vs|is|isn't|may|might|could)\b/i.test(words)
  );
}

function listsOthers(text: string): boolean {
  return (text.match(otherOption)?.length ?? 0) > 1;
}
