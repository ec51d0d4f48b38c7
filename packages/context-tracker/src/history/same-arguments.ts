import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Whether two argument texts say the same. Frameworks parse what the model wrote and print it again.
 * `exact`: the same JSON value. `lossy`: what schema parsers make of it as well: unknown keys dropped, defaults
 * added, scalars coerced, and anything at all where the model's own text was no JSON object.
 */
export function isSameArguments(own: string, sent: string, kind: 'exact' | 'lossy'): boolean {
  if (own.trim() === sent.trim()) return true;
  const ownValue = parseJson(own);
  const sentValue = parseJson(sent);
  if (kind === 'exact') return ownValue !== undefined && isSameValue(ownValue, sentValue);
  return !isJsonObject(ownValue) || (isJsonObject(sentValue) && isLossyObject(ownValue, sentValue));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // models write what is no JSON; it then equals nothing but itself
  }
}

function isSameValue(left: unknown, right: unknown): boolean {
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((value, index) => isSameValue(value, right[index]))
    );
  if (!isJsonObject(left)) return left === right;
  const keys = Object.keys(left);
  return (
    isJsonObject(right) &&
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameValue(left[key], right[key]))
  );
}

/** Every key that both have says the same, and at least one is left of those that the model wrote. */
function isLossyObject(own: JsonObject, sent: JsonObject): boolean {
  const shared = Object.keys(own).filter((key) => Object.hasOwn(sent, key));
  const isEmptied = shared.length === 0 && Object.keys(own).length > 0 && Object.keys(sent).length > 0;
  return !isEmptied && shared.every((key) => isLossyValue(own[key], sent[key]));
}

function isLossyValue(own: unknown, sent: unknown): boolean {
  if (isJsonObject(own)) return isJsonObject(sent) && isLossyObject(own, sent);
  if (Array.isArray(own))
    return (
      Array.isArray(sent) && own.length === sent.length && own.every((value, index) => isLossyValue(value, sent[index]))
    );
  return own === sent || (!isJsonObject(sent) && !Array.isArray(sent) && String(own).trim() === String(sent).trim());
}
