import type { z } from 'zod';
import type { JsonObject } from '../json-object.js';
import type { CamelKeys } from './key-names.js';

/**
 * A backbone, task reader, judge, environment, algorithm or chat-template family is registered as one entry: a name for
 * the configuration, a section of settings, and `open`, which creates the thing from that section. Core contains the
 * name of none of them.
 */

/** The part of an entry that the configuration needs. */
export type Entry = {
  readonly name: string;
  /** A few words for the manual. */
  readonly summary?: string;
  /** Its settings, each made with `setting`. The file has them under the entry's name, next to the key that names the entry. */
  readonly section?: z.ZodObject;
  /** If true, the settings are next to the key that names the entry, without a section around them. */
  readonly isFlat?: boolean;
  /** Keys of the section that may change when a run is resumed, because they do not change the result. */
  readonly freeOnResume?: readonly string[];
  /** Keys of other sections that the entry does not read. A start says so if they are not the default. */
  readonly ignores?: readonly string[];
  /** Keys of other sections that the entry supports only with these values. Any other value is refused. */
  readonly allows?: Readonly<Record<string, readonly unknown[]>>;
  /**
   * Keys that the name sets, in YAML spelling, such as `{ 'trainer_common.loss_mode': 'gspo' }`. These values replace the
   * defaults, and a value that the user writes replaces them. A function gets the whole configuration without these keys.
   */
  readonly sets?: Readonly<Record<string, PresetValue>>;
};

export type PresetValue = string | number | boolean | ((values: JsonObject) => unknown);

/** An entry without its types. `open` takes the section that `section` describes. */
export interface OpenableEntry<Common, Made> extends Entry {
  open(section: never, common: Common): Made | Promise<Made>;
}

/** The argument of `open`: the entry's settings in camelCase, each with a value. */
export type SectionOf<Section extends z.ZodObject> = CamelKeys<z.output<Section>>;

/** An entry of one kind. Every `open` of the kind takes `Common` in addition to the section. */
export type Registration<
  Name extends string,
  Section extends z.ZodObject,
  Common,
  Made,
  Flat extends boolean = boolean,
> = Omit<Entry, 'name' | 'section' | 'isFlat'> & {
  readonly name: Name;
  readonly section: Section;
  readonly isFlat?: Flat;
  open(section: SectionOf<Section>, common: Common): Made | Promise<Made>;
};

/** `path/file.ts->Export` names an entry, or an instance, in a file of the user. */
export type ExportReference = `${string}->${string}`;

/** Returns whether a configured name is `path/file.ts->Export`. */
export function isExportReference(name: string): name is ExportReference {
  return name.includes('->');
}

const givenInCode = '(code)';

/** Returns the name that a configuration records for an entry or instance given in code, so that it is not taken for a registered one. */
export function nameGivenInCode(name: string): ExportReference {
  return `${givenInCode}->${name}`;
}

export function isGivenInCode(name: string): boolean {
  return name.startsWith(`${givenInCode}->`);
}

/** The kinds of entries: the key that names an entry, and the section that contains the entries' settings ('': the top). */
export const kinds = {
  backbones: { key: 'backbone', host: '', noun: 'backbone' },
  readers: { key: 'task_reader.type', host: 'task_reader', noun: 'task reader' },
  judges: { key: 'task_judge.judge_type', host: 'task_judge', noun: 'judge' },
  environments: { key: 'environment.protocol', host: 'environment', noun: 'environment' },
  algorithms: {
    key: 'trainer_common.algorithm.adv_estimator',
    host: 'trainer_common.algorithm',
    noun: 'algorithm',
  },
  templates: { key: 'model.template_family', host: 'model', noun: 'chat-template family' },
} as const;

export type Kind = keyof typeof kinds;

export const allKinds = Object.keys(kinds) as readonly Kind[];

/** The entries of each kind. The first entry is the default of its kind, if the kind has no other. An omitted kind has no entries. */
export type Registrations = { readonly [K in Kind]?: readonly Entry[] };

/** `Registrations` with a list for every kind. */
export type EveryRegistration = Required<Registrations>;

/** Entries from files of the user. Each is used instead of the entry of its kind that the configuration names. */
export type OutsideEntries = { readonly [K in Kind]?: Entry };
