import { parseSync } from 'oxc-parser';
import type { Source } from './sources.js';

export function countLines(text: string): number {
  return text.replace(/\n$/, '').split('\n').length;
}

/** Counts lines that are neither blank nor comment. */
export function countCodeLines({ file, text }: Source): number {
  const { comments } = parseSync(file, text);
  const code = comments.reduce(
    (left, { start, end }) => left.slice(0, start) + left.slice(start, end).replace(/[^\n]/g, ' ') + left.slice(end),
    text,
  );
  return code.split('\n').filter((line) => line.trim() !== '').length;
}
