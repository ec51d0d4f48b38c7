import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Converts Gemini's form of a schema to JSON Schema: types are in capitals there, limits are strings, and `nullable` is
 * a field. A schema that is JSON Schema already stays as it is.
 */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const { nullable, ...fields } = schema;
  const converted = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, convert(key, value)]));
  const { type } = converted;
  return nullable === true && typeof type === 'string' ? { ...converted, type: [type, 'null'] } : converted;
}

const limits = /^(min|max)(Items|Length|Properties)$/;

function convert(key: string, value: unknown): unknown {
  if (key === 'type' && typeof value === 'string') return value.toLowerCase();
  if (limits.test(key) && typeof value === 'string') return Number(value);
  if (key === 'properties' && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, ifSchema(inner)]));
  if (key === 'anyOf' && Array.isArray(value)) return value.map(ifSchema);
  return key === 'items' ? ifSchema(value) : value;
}

function ifSchema(value: unknown): unknown {
  return isJsonObject(value) ? toJsonSchema(value) : value;
}
