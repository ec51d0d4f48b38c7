import { isJsonObject, isSameJson, parseJson, type JsonObject } from '@agentjet/core';

/**
 * Returns whether two argument strings hold the same JSON value. Frameworks parse what the model wrote and print it
 * again. If `schema`, the parameters of the tool, is given, `sent` may also be the result of parsing with this schema:
 * keys that the schema does not list are missing, defaults are filled in, scalars are converted. Any other difference
 * is an edit, which the model must see. If the schema has no properties, no key may be missing.
 */
export function isSameArguments(own: string, sent: string, schema?: JsonObject): boolean {
  if (own.trim() === sent.trim()) return true;
  const ownValue = parseJson(own);
  const sentValue = parseJson(sent);
  if (isJsonObject(ownValue) && schema !== undefined) return isParsed(ownValue, sentValue, schema);
  if (ownValue !== undefined && isSameJson(ownValue, sentValue)) return true;
  return schema !== undefined && !isJsonObject(ownValue) && isStandIn(own, sentValue);
}

/**
 * Returns whether `sent` replaces arguments that a framework could not parse. Frameworks then send nothing, or the
 * string itself under a special key.
 */
function isStandIn(own: string, sent: unknown): boolean {
  if (sent === null || sent === '' || sent === own) return true;
  return isJsonObject(sent) && Object.values(sent).every((value) => value === own);
}

/** Returns whether parsing `own` with the schema may give `sent`. */
function isParsed(own: unknown, sent: unknown, schema: unknown): boolean {
  if (isSameJson(own, sent)) return true;
  if (isJsonObject(own)) return isJsonObject(sent) && isParsedObject(own, sent, isJsonObject(schema) ? schema : {});
  if (Array.isArray(own)) {
    const items = isJsonObject(schema) ? schema['items'] : undefined;
    return (
      Array.isArray(sent) && own.length === sent.length && own.every((value, at) => isParsed(value, sent[at], items))
    );
  }
  return !isJsonObject(sent) && !Array.isArray(sent) && String(own).trim() === String(sent).trim();
}

function isParsedObject(own: JsonObject, sent: JsonObject, schema: JsonObject): boolean {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const { additionalProperties } = schema;
  const isKept =
    schema['properties'] === undefined || additionalProperties === true || isJsonObject(additionalProperties);
  const mayGo = (key: string): boolean => !isKept && !Object.hasOwn(properties, key);
  const mayCome = (key: string): boolean => {
    const property = properties[key];
    return isJsonObject(property) && Object.hasOwn(property, 'default') && isSameJson(property['default'], sent[key]);
  };
  return (
    Object.keys(own).every((key) =>
      Object.hasOwn(sent, key) ? isParsed(own[key], sent[key], properties[key]) : mayGo(key),
    ) && Object.keys(sent).every((key) => Object.hasOwn(own, key) || mayCome(key))
  );
}
