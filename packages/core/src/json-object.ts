/** A JSON object with any values. */
export type JsonObject = { readonly [key: string]: unknown };

/** Returns whether a value is an object with keys, and neither a list nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a JSON object. Returns undefined if the string is anything else, because models often write invalid JSON. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** Parses JSON. Returns undefined if the string is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses the arguments that a model wrote, for APIs that have them as an object. Text that is not a JSON object becomes
 * the value of `_raw`, and the tool then reports the mistake.
 */
export function toArgumentObject(text: string): JsonObject {
  return parseJsonObject(text) ?? { _raw: text };
}

/** Reverses `toArgumentObject`. */
export function toArgumentText(given: unknown): string {
  const raw = isJsonObject(given) && Object.keys(given).length === 1 ? given['_raw'] : undefined;
  return typeof raw === 'string' ? raw : JSON.stringify(given ?? {});
}

/** Returns whether two JSON values are equal. The order of keys does not matter. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((value, index) => isSameJson(value, right[index]))
    );
  if (!isJsonObject(left)) return left === right;
  const keys = Object.keys(left);
  return (
    isJsonObject(right) &&
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]))
  );
}

/** Returns whether two strings contain the same JSON value. A string that is not JSON equals only itself. */
export function isSameJsonText(left: string, right: string): boolean {
  if (left.trim() === right.trim()) return true;
  const value = parseJson(left);
  return value !== undefined && isSameJson(value, parseJson(right));
}

/** Returns whether lists and objects are nested deeper than `depth`. Looks no deeper, and calls `visit` for the strings that it passes. */
export function isDeeperThan(depth: number, value: unknown, visit?: (text: string) => void): boolean {
  if (typeof value === 'string') visit?.(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const key in value) if (isDeeperThan(depth - 1, Reflect.get(value, key), visit)) return true;
  return false;
}

/** Returns the value at a path, or undefined if there is none. */
export function valueAtPath(values: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    values,
  );
}

/** Compares by code units, so that the order is the same on every machine. */
export const compareText = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

/** Returns the value if it is a string, and otherwise an empty one. */
export const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns an object that has `value` at a dotted key. */
export function nestAtKey(key: string, value: unknown): JsonObject {
  return key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject;
}

/** Merges objects key by key. Any other value of `over` replaces the value of `base`. */
export function mergeJson(base: unknown, over: unknown): unknown {
  if (!isJsonObject(base) || !isJsonObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = mergeJson(base[key], value);
  return merged;
}

const backslash = 0x5c;

/**
 * Returns the index of the closing quote of a JSON string that opens at `start`, or the length of the text if there is
 * none. A quote after an odd number of backslashes belongs to the string.
 */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let numBackslashes = 0;
    while (text.charCodeAt(end - 1 - numBackslashes) === backslash) numBackslashes++;
    if (numBackslashes % 2 === 0) return end;
  }
  return text.length;
}
