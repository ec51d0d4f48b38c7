import { isJsonObject, parseJsonObject } from '@agentjet/core';

/**
 * Reads the strings with these names from the JSON object in an answer. The object may be in a code block, as models
 * often write it. Returns undefined if there is no such object.
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
