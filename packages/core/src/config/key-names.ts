import { isJsonObject, type JsonObject } from '../json-object.js';

/** YAML, HTTP and JSONL use snake_case, TypeScript uses camelCase. Only these functions convert between them. */

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

/**
 * Does not convert a key that names an export, such as `judges.ts->StyleJudge`, nor the keys in `chat_template_kwargs`:
 * users choose their spelling.
 */
function mapKeys(value: unknown, rename: (name: string) => string): unknown {
  if (!isJsonObject(value)) return value;
  const spell = (key: string): string => (key.includes('->') ? key : rename(key));
  const inside = (key: string, inner: unknown): unknown => (isTemplateVariables(key) ? inner : mapKeys(inner, rename));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [spell(key), inside(key, inner)]));
}

/** Renames the keys of nested objects, except objects in lists. */
export function camelKeys<Value>(value: Value): CamelKeys<Value> {
  return mapKeys(value, toCamelCase) as CamelKeys<Value>;
}

/** The inverse of `camelKeys`. */
export function snakeKeys(value: JsonObject): JsonObject {
  return mapKeys(value, toSnakeCase) as JsonObject;
}

/** Returns the number of edits (insert, delete, replace, swap of neighbours) between two strings: optimal string alignment. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      const swapped =
        left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1] ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same, swapped));
    }
    [beforeLast, last] = [last, row];
  }
  return last[right.length] ?? 0;
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);
const parentOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf('.')));

/** Returns a small number for a likely slip: a misspelled name, or the right name in the wrong section. */
function slipDistance(unknown: string, known: string): number {
  const elsewhere = parentOf(unknown) === parentOf(known) ? 0 : 1;
  return editDistance(nameOf(unknown), nameOf(known)) + elsewhere;
}

/** Longer names are not compared, because the time grows with both lengths. */
const longestName = 200;

/** Returns the known key or name that `key` was probably meant to be, or undefined if none is near. */
export function findNearestKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > longestName) return undefined;
  const isShouted = nameOf(key) === nameOf(key).toUpperCase();
  const meant = isShouted ? key.toLowerCase() : toSnakeCase(key.replaceAll('-', '_'));
  const limit = Math.max(2, Math.floor(nameOf(meant).length / 3));
  const distances = known.map((candidate) => ({ candidate, distance: slipDistance(meant, candidate) }));
  distances.sort((left, right) => left.distance - right.distance);
  const [best] = distances;
  return best !== undefined && best.distance <= limit ? best.candidate : undefined;
}
