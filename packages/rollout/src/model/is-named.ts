/** Whether a name matches one of the patterns, in which `*` matches any characters. Matching ignores case. */
export function isNamed(name: string | undefined, patterns: readonly string[]): boolean {
  return name !== undefined && patterns.some((pattern) => matches(name.toLowerCase(), pattern.toLowerCase()));
}

/**
 * Matches the parts between the stars, in order. It uses no regular expression, because the name comes from the agent.
 */
function matches(name: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - at >= last.length && name.endsWith(last);
}
