/**
 * Splits a list at its commas, semicolons, "or" and "and" outside of brackets. `1,200, 3` has two parts, and `1,200` in
 * brackets has two as well.
 */
export function splitParts(text: string): readonly string[] {
  const hasSemicolon = splitOutside(text, /;/y).length > 1;
  if (hasSemicolon) return trimmed(splitOutside(text, /;/y));
  const comma = /,\s/.test(text) ? /,(?!(?<=\d,)\d{3}(?!\d))/y : /,/y;
  const parts = splitOutside(text, comma).flatMap((part) => splitOutside(part, /(?<![a-zA-Z])(?:or|and)(?![a-zA-Z])/y));
  return trimmed(parts);
}

function trimmed(parts: readonly string[]): readonly string[] {
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Splits at matches of the sticky pattern outside of brackets. */
export function splitOutside(text: string, separator: RegExp): readonly string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if ('([{\uE000'.includes(character)) depth++;
    if (')]}\uE001'.includes(character)) depth--;
    separator.lastIndex = at;
    const found = depth === 0 ? separator.exec(text)?.[0] : undefined;
    if (found === undefined) continue;
    parts.push(text.slice(from, at));
    from = at + found.length;
    at = from - 1;
  }
  return [...parts, text.slice(from)];
}

/** The text inside brackets that enclose everything. Null if there are none. */
export function insideBrackets(
  text: string,
): { readonly open: string; readonly close: string; readonly inside: string } | null {
  const [open, close] = [text.charAt(0), text.charAt(text.length - 1)];
  if (text.length < 2 || !'([{'.includes(open) || !')]}'.includes(close)) return null;
  const inside = text.slice(1, -1);
  let depth = 0;
  for (const character of inside) {
    if ('([{'.includes(character)) depth++;
    if (')]}'.includes(character) && --depth < 0) return null;
  }
  return depth === 0 ? { open, close, inside } : null;
}
