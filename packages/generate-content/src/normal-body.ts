import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Gemini's servers accept each field in camel case and in snake case, and a null like an absent field. This file gives
 * a body its one form. Names that users choose stay as they are: in schemas, arguments and results.
 */

/** Fields whose content belongs to the user. */
const opaque = new Set([
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
  'responseSchema',
  'args',
  'labels',
  'chatTemplateKwargs',
]);

export function toNormalBody(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toNormalBody);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(
    entries.map(([key, inner]) => {
      const name = toCamelCase(key);
      return [name, opaque.has(name) ? inner : toNormalBody(inner)];
    }),
  ) satisfies JsonObject;
}

function toCamelCase(key: string): string {
  const name = key.replaceAll(/(?<=[a-zA-Z0-9])_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return name === '_responseJsonSchema' ? 'responseJsonSchema' : name;
}
