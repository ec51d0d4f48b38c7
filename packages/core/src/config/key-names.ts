import { isJsonObject, type JsonObject } from '../json-object.js';

/** YAML, HTTP and JSONL are snake_case, TypeScript is camelCase; these functions are the only bridge. */

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The type of `camelKeys(value)`. */
export type CamelKeys<Value> = Value extends readonly unknown[]
  ? Readonly<Value>
  : Value extends object
    ? { readonly [Key in keyof Value as CamelCase<Key & string>]: CamelKeys<Value[Key]> }
    : Value;

export function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const isTemplateVariables = (key: string): boolean => /template_?kwargs$/i.test(key);

/** A key that names an export, `judges.ts->StyleJudge`, is spelled by its file, and one in `chat_template_kwargs` by a chat template. */
function mapKeys(value: unknown, rename: (name: string) => string): unknown {
  if (!isJsonObject(value)) return value;
  const spell = (key: string): string => (key.includes('->') ? key : rename(key));
  const inside = (key: string, inner: unknown): unknown => (isTemplateVariables(key) ? inner : mapKeys(inner, rename));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [spell(key), inside(key, inner)]));
}

/** Renames the keys of nested objects, not of objects within lists. */
export function camelKeys<Value>(value: Value): CamelKeys<Value> {
  return mapKeys(value, toCamelCase) as CamelKeys<Value>;
}

/** The inverse of `camelKeys`. */
export function snakeKeys(value: JsonObject): JsonObject {
  return mapKeys(value, toSnakeCase) as JsonObject;
}
