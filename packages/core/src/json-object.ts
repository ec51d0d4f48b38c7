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
