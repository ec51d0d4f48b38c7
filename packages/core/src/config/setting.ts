import { z } from 'zod';

/**
 * How a section describes one of its keys: what it may hold, its default, and the comment that `default.yaml` prints. The
 * manual, the defaults and the validation all come from this one place.
 */

/** How a value of a file is to be taken. */
export type SettingNotes = {
  /**
   * What a relative path is resolved against: `file` and `module` (`path/file.ts->Export`) against the YAML file and then the
   * working directory; `name` likewise, if it is a module and not a plain name; `output` against the working directory.
   */
  readonly path?: 'file' | 'module' | 'name' | 'model' | 'output';
  /** Never shown in a message and never written to a file. */
  readonly isSecret?: true;
};

type DefaultOf<Schema extends z.ZodType> = z.core.util.NoUndefined<z.output<Schema>>;

/** One key of a section. */
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  value: DefaultOf<Schema>,
  comment?: string,
  notes: SettingNotes = {},
): z.ZodDefault<Schema> {
  return schema.default(value).meta({ ...(comment === undefined ? {} : { description: comment }), ...notes });
}

/** What `setting` said of a key besides its schema. */
export function notesOf(schema: z.ZodType): SettingNotes {
  return (schema.meta() ?? {}) as SettingNotes;
}

/** Keys of a section by name; empty for a key that is not a section. */
export function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> {
  return schema instanceof z.ZodObject ? (schema.shape as Readonly<Record<string, z.ZodType>>) : {};
}

/** The value of a key that nobody sets: a section is built of the defaults of its keys. */
export function defaultOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodDefault) return schema.def.defaultValue;
  return Object.fromEntries(Object.entries(shapeOf(schema)).map(([key, inner]) => [key, defaultOf(inner)]));
}

/** Every key below `schema` as a dotted path, sections included, with its schema. */
export function listKeys(schema: z.ZodType, prefix = ''): readonly (readonly [key: string, schema: z.ZodType])[] {
  return Object.entries(shapeOf(schema)).flatMap(([key, inner]) => [
    [`${prefix}${key}`, inner] as const,
    ...listKeys(inner, `${prefix}${key}.`),
  ]);
}
