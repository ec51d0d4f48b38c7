/** Messages show values without secrets and on one line. */

const mostCharacters = 120;
const secretName = /api[_-]?key|(^|[._])(token|password|secret)$/i;

/** Returns whether the last name of a dotted key marks its value as a secret, of any type. */
export function isSecretKey(key: string): boolean {
  return secretName.test(key);
}

/** Removes the user and password from addresses: `http://ann:secret@host/v1` becomes `http://host/v1`. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, '$1');
}

/** Cuts a long string. */
export function cutText(text: string): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters)}... (${text.length} characters)`;
}

function toText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value); // JSON has no word for .nan, .inf and bigints
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 2 * mostCharacters)); // the rest is cut anyway
  try {
    return JSON.stringify(value) ?? 'missing';
  } catch {
    return 'a value that cannot be shown';
  }
}

/** Returns the value of `key` for a message. */
export function showValue(key: string, value: unknown): string {
  if (isSecretKey(key) && value !== undefined && value !== null) return 'a secret that is not shown';
  if (typeof value === 'string' && value.length > mostCharacters)
    return withoutCredentials(`${JSON.stringify(value.slice(0, mostCharacters))}... (${value.length} characters)`);
  return cutText(withoutCredentials(toText(value)));
}

/**
 * Quotes a word of a printed command, such as a path, so that the command can be pasted into a shell. POSIX shells take everything between single
 * quotes literally, except a single quote. `cmd` and PowerShell both accept double quotes.
 */
export function quoteForShell(word: string, platform: string = process.platform): string {
  if (/^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word)) return word;
  if (platform === 'win32') return /^[\w@+=:,./\\-]+$/.test(word) ? word : `"${word.replaceAll('"', '\\"')}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
