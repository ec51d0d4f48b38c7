/**
 * A word of a command that we print, such as a path, so that the command can be pasted into a shell as it is. POSIX shells read all but a single
 * quote as it is between single quotes; `cmd` and PowerShell both know double quotes.
 */
export function quoteForShell(word: string, platform: string = process.platform): string {
  if (/^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word)) return word;
  if (platform === 'win32') return /^[\w@+=:,./\\-]+$/.test(word) ? word : `"${word.replaceAll('"', '\\"')}"`;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
