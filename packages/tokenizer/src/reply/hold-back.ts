/** Length of the longest suffix of `text` that a coming text could complete to `tag`. */
export function partialTagLength(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}

/** Whether an added piece is more than the space, or the newlines, that are held back already. */
export function isMoreThanSpace(added: string): boolean {
  return added.trimStart() !== '';
}

export function isMoreThanNewlines(added: string): boolean {
  return !/^\n*$/.test(added);
}

/** `text` cut in two: what is certain, and a suffix of characters matching `held` that later text may change. */
export function splitTrailing(text: string, held: RegExp): readonly [string, string] {
  let length = text.length;
  while (length > 0 && held.test(text.charAt(length - 1))) length--;
  return [text.slice(0, length), text.slice(length)];
}
