const backslash = 0x5c;

/**
 * Returns the index of the closing quote of a JSON string that opens at `start`. A quote after an odd number of
 * backslashes belongs to the string.
 */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let numBackslashes = 0;
    while (text.charCodeAt(end - 1 - numBackslashes) === backslash) numBackslashes++;
    if (numBackslashes % 2 === 0) return end;
  }
  return text.length;
}
