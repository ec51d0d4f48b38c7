/** A JSON object, with whatever it holds. */
export type JsonObject = { readonly [key: string]: unknown };

/** Whether a value is an object with keys: no list, no null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON object that a text spells; undefined where it spells anything else. Models often write what is no JSON. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** The value that a string spells in JSON; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether two values of JSON are equal, in any order of their keys. */
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

/** Whether two strings spell the same value in JSON. A string that is not JSON equals only itself. */
export function isSameJsonText(left: string, right: string): boolean {
  if (left.trim() === right.trim()) return true;
  const value = parseJson(left);
  return value !== undefined && isSameJson(value, parseJson(right));
}

/** Whether a value has more lists and objects in one another than `depth`. Looks no deeper, and visits the strings that it passes. */
export function isDeeperThan(depth: number, value: unknown, visit?: (text: string) => void): boolean {
  if (typeof value === 'string') visit?.(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const key in value) if (isDeeperThan(depth - 1, Reflect.get(value, key), visit)) return true;
  return false;
}
