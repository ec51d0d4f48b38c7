import type { z } from 'zod';
import type { JsonObject } from '../json-object.js';
import type { CamelKeys } from './key-names.js';

/**
 * A backbone, task reader, judge, environment, algorithm or chat-template family is one entry: a name that a configuration may say, the
 * section of settings that comes with it, and `open`, which makes the thing from that section. Core knows none of them by name.
 */

/** What the configuration needs to know of an entry. */
export type Entry = {
  readonly name: string;
  /** A few words for the manual. */
  readonly summary?: string;
  /** Its settings, each made with `setting`. They are written under the entry's name, next to the key that names it. */
  readonly section?: z.ZodObject;
  /** True: the settings are next to the key that names the entry, without a section around them. */
  readonly isFlat?: boolean;
  /** Keys of the section that may change between a run and its continuation, because they do not change what it computes. */
  readonly freeOnResume?: readonly string[];
  /** Keys of other sections that it honours with these values alone; any other value is refused instead of ignored. */
  readonly allows?: Readonly<Record<string, readonly unknown[]>>;
  /**
   * Keys that the name sets, in YAML spelling, such as `{ 'trainer_common.loss_mode': 'gspo' }`. They replace the defaults,
   * and a value that the user writes replaces them. A function gets the whole configuration without these keys.
   */
  readonly sets?: Readonly<Record<string, PresetValue>>;
};

export type PresetValue = string | number | boolean | ((values: JsonObject) => unknown);

/** An entry without its types: `open` takes the section that `section` describes. */
export interface OpenableEntry<Common, Made> extends Entry {
  open(section: never, common: Common): Made | Promise<Made>;
}

/** What `open` gets: the entry's own settings in camelCase, each with a value. */
export type SectionOf<Section extends z.ZodObject> = CamelKeys<z.output<Section>>;

/** An entry of one kind. `Common` is what every `open` of the kind is handed besides the section. */
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

/** `path/file.ts->Export`: an entry, or an instance, from a file of the user's. */
export type ExportReference = `${string}->${string}`;

/** Whether a configured name is `path/file.ts->Export`. */
export function isExportReference(name: string): name is ExportReference {
  return name.includes('->');
}

const givenInCode = '(code)';

/** How a configuration names an entry or an instance that code gave, so that a record of it does not name another. */
export function nameGivenInCode(name: string): ExportReference {
  return `${givenInCode}->${name}`;
}

export function isGivenInCode(name: string): boolean {
  return name.startsWith(`${givenInCode}->`);
}

/** The kinds that entries come in: the key that names an entry, and the section that entries add their settings to ('': the top). */
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

/** The entries of each kind. The first of a kind is its default, if the kind has no other. A kind that is left out has no entries. */
export type Registrations = { readonly [K in Kind]?: readonly Entry[] };

/** The same with a list for every kind. */
export type EveryRegistration = Required<Registrations>;

/** Entries from outside, each in place of the named one of its kind. */
export type OutsideEntries = { readonly [K in Kind]?: Entry };
