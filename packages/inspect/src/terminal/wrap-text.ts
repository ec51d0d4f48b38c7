import { makeVisible } from '@agentjet/core/text';

/**
 * Cuts text into lines of at most `width` columns, at spaces if possible. Line ends of the text are kept, and control
 * characters become visible. It returns one empty line for an empty string.
 */
export function wrapText(text: string, width: number): readonly string[] {
  return makeVisible(text.replaceAll('\r\n', '\n').replaceAll('\t', '  '))
    .split('\n')
    .flatMap((line) => wrapLine(line, width));
}

function wrapLine(line: string, width: number): readonly string[] {
  const letters = [...graphemes.segment(line)].map(({ segment }) => segment);
  const lines: string[] = [];
  for (let start = 0; start < letters.length; ) {
    const fitting = fitLetters(letters, start, width);
    const end = fitting === letters.length ? fitting : breakBefore(letters, start, fitting);
    lines.push(letters.slice(start, end).join('').trimEnd());
    start = end;
    while (end < letters.length && letters[start] === ' ') start++;
  }
  return lines.length === 0 ? [''] : lines;
}

/** The end of the letters that fit. At least one letter fits. */
function fitLetters(letters: readonly string[], start: number, width: number): number {
  let columns = 0;
  for (let at = start; at < letters.length; at++) {
    columns += isWide.test(letters[at] ?? '') ? 2 : 1;
    if (columns > width) return Math.max(at, start + 1);
  }
  return letters.length;
}

/** The place after the last space before `end`, or `end` if a word is longer than a line. */
function breakBefore(letters: readonly string[], start: number, end: number): number {
  if (letters[end] === ' ') return end;
  const space = letters.lastIndexOf(' ', end - 1);
  return space > start ? space + 1 : end;
}

const graphemes = new Intl.Segmenter();
/** Characters that take two columns on a terminal. */
const isWide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;
