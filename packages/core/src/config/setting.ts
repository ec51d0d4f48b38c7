import { z } from 'zod';

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
