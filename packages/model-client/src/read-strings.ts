import { isJsonObject, parseJsonObject } from '@agentjet/core';

/**
 * Reads the strings with these names from a JSON object. Undefined if the text is not such an object. Models often put
 * it in a code block, which is accepted.
 */
export function readStrings<Name extends string>(
  answer: string,
  names: readonly Name[],
): Readonly<Record<Name, string>> | undefined {
  const body = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1);
  const value: unknown = parseJsonObject(body);
  if (!isJsonObject(value)) return undefined;
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const each = value[name];
    if (typeof each !== 'string' || each.trim() === '') return undefined;
    found[name] = each.trim();
  }
  return found as Readonly<Record<Name, string>>;
}
