/** A JSON object, with whatever it holds. */
export type JsonObject = { readonly [key: string]: unknown };

/** Whether a value is an object with keys: no list, no null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON object that a text spells; undefined where it spells anything else. Models often write what is no JSON. */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value has more lists and objects in one another than `depth`. Looks no deeper, and visits the strings that it passes. */
export function isDeeperThan(depth: number, value: unknown, visit?: (text: string) => void): boolean {
  if (typeof value === 'string') visit?.(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const key in value) if (isDeeperThan(depth - 1, Reflect.get(value, key), visit)) return true;
  return false;
}
