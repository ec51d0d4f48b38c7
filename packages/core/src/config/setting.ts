import { z } from 'zod';
import { isJsonObject, isSameJson, type JsonObject } from '../json-object.js';

/**
 * A setting describes one key of a section: the values it allows, its default, and the comment that `default.yaml` prints. The
 * manual, the defaults and the validation are all made from it.
 */

/** Notes on how the value of a setting is treated. */
export type SettingNotes = {
  /**
   * The folders in which a relative path is looked up. `file` and `module` (`path/file.ts->Export`): the folder of the
   * YAML file, then the working directory. `name`: the same, if the value is a module and not a plain name. `output`:
   * the working directory.
   */
  readonly path?: 'file' | 'module' | 'name' | 'model' | 'output';
  /** The value is never shown in a message and never written to a file. */
  readonly isSecret?: true;
  /**
   * The value contains strings, but they name no code, program, file, folder, address or environment variable. So a
   * client on another machine may set them when it begins a run.
   */
  readonly isPlain?: true;
};

type DefaultOf<Schema extends z.ZodType> = z.core.util.NoUndefined<z.output<Schema>>;

/** Creates one key of a section. */
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  value: DefaultOf<Schema>,
  comment?: string,
  notes: SettingNotes = {},
): z.ZodDefault<Schema> {
  return schema.default(value).meta({ ...(comment === undefined ? {} : { description: comment }), ...notes });
}

/** Returns the notes that `setting` attached to a schema. */
export function notesOf(schema: z.ZodType): SettingNotes {
  return (schema.meta() ?? {}) as SettingNotes;
}

/** Returns the keys of a section by name. The result is empty for a key that is not a section. */
export function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> {
  return schema instanceof z.ZodObject ? (schema.shape as Readonly<Record<string, z.ZodType>>) : {};
}

/** Returns the value of a key that nobody sets. A section consists of the defaults of its keys. */
export function defaultOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault) return schema.def.defaultValue;
  return Object.fromEntries(Object.entries(shapeOf(schema)).map(([key, inner]) => [key, defaultOf(inner)]));
}

/** Lists every key below `schema`, including sections, as a dotted path with its schema. */
export function listKeys(schema: z.ZodType, prefix = ''): readonly (readonly [key: string, schema: z.ZodType])[] {
  return Object.entries(shapeOf(schema)).flatMap(([key, inner]) => [
    [`${prefix}${key}`, inner] as const,
    ...listKeys(inner, `${prefix}${key}.`),
  ]);
}

/** A setting with a value that may name code, a program, a file, a folder, an address or an environment variable. */
export type ReachingSetting = { readonly key: string; readonly value: unknown; readonly isSecret: boolean };

/**
 * Finds the settings that may reach outside of the configuration. Numbers, booleans, listed words and registered names
 * never do. Any other string does, unless its setting is marked `isPlain` and the string does not look like a path.
 * So a new setting is found by default. Values that are also in `own` are not found.
 */
export function findReaching(
  schema: z.ZodType,
  values: { readonly given: JsonObject; readonly own: JsonObject },
  prefix = '',
): readonly ReachingSetting[] {
  return Object.entries(shapeOf(schema)).flatMap(([name, inner]) => {
    const [given, own] = [values.given[name], values.own[name]];
    const key = `${prefix}${name}`;
    if (inner instanceof z.ZodObject)
      return findReaching(inner, { given: asSection(given), own: asSection(own) }, `${key}.`);
    if (isSameJson(given, own) || !mayReach(inner, given)) return [];
    return [{ key, value: given, isSecret: notesOf(inner).isSecret === true }];
  });
}

const asSection = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** A model of the hub, such as `Qwen/Qwen2.5-0.5B-Instruct` or `name@revision`, or a model of a package. */
const modelName = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?(@[A-Za-z0-9][\w.-]*)?$/;

function mayReach(schema: z.ZodType, value: unknown): boolean {
  const { path, isPlain } = notesOf(schema);
  if (value === undefined || value === null) return false;
  if (isPlain === true) return hasString(value, (text) => pathForm.test(text));
  if (path === 'name') return typeof value !== 'string' || value.includes('->');
  if (path === 'model') return typeof value !== 'string' || !modelName.test(value) || /\.gguf$/i.test(value);
  const words = new Set(wordsOf(schema));
  return hasString(value, (text) => !words.has(text));
}

/** Matches an export of a file, a path that is absolute or begins with a dot, and an address. */
const pathForm = /->|^[./~\\]|^[a-z]:[/\\]|^[a-z][a-z0-9+.-]*:\/\//i;

/** Returns whether `passes` accepts any string in the value. The keys of objects count too. */
function hasString(value: unknown, passes: (text: string) => boolean): boolean {
  if (typeof value === 'string') return passes(value);
  if (Array.isArray(value)) return value.some((one) => hasString(one, passes));
  if (!isJsonObject(value)) return false;
  return Object.entries(value)
    .flat()
    .some((one) => hasString(one, passes));
}

/** Returns the words that a setting lists, such as those of an enum. */
function wordsOf(schema: unknown): readonly unknown[] {
  if (schema instanceof z.ZodEnum) return schema.options;
  if (schema instanceof z.ZodLiteral) return [...schema.values];
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return wordsOf(schema.unwrap());
  if (schema instanceof z.ZodArray) return wordsOf(schema.element);
  return schema instanceof z.ZodUnion ? schema.options.flatMap(wordsOf) : [];
}
