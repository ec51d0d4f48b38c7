/** Returns the length of the longest suffix of `text` that later text could complete to `tag`. */
export function partialTagLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}

/** Returns whether an added piece contains more than whitespace. Whitespace alone is held back. */
export function isMoreThanSpace(added: string): boolean {
  return added.trimStart() !== '';
}

export function isMoreThanNewlines(added: string): boolean {
  return !/^\n*$/.test(added);
}

/**
 * Splits `text` into a part that is certain and a suffix that later text may change. All characters of the suffix match
 * `held`.
 */
export function splitTrailing(text: string, held: RegExp): readonly [string, string] {
  let length = text.length;
  while (length > 0 && held.test(text.charAt(length - 1))) length--;
  return [text.slice(0, length), text.slice(length)];
}
