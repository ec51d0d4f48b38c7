import { z } from 'zod';
import { commonSections } from './common-schema.js';
import type { CamelKeys } from './key-names.js';
import {
  kinds,
  type Entry,
  type ExportReference,
  type Kind,
  type EveryRegistration,
  type OutsideEntries,
  type Registrations,
} from './registration.js';
import { setting } from './setting.js';

/** Puts the sections of all entries between the common ones, and returns the schema of a whole configuration. */

type Empty = Readonly<Record<never, never>>;
type Intersection<Union> = (Union extends unknown ? (value: Union) => void : never) extends (value: infer All) => void
  ? All
  : never;
type FlatOf<E> = E extends { readonly isFlat?: infer Flat } ? Flat : false;
type Placed<E> = E extends { readonly name: infer Name extends string; readonly section: infer S extends z.ZodObject }
  ? true extends FlatOf<E>
    ? z.output<S>
    : string extends keyof z.output<S>
      ? Empty
      : keyof z.output<S> extends never
        ? Empty
        : { [Key in Name]: z.output<S> }
  : Empty;
type EntryIn<R extends Registrations, K extends Kind> = R[K] extends readonly (infer E extends Entry)[] ? E : never;
type SectionsOf<R extends Registrations, K extends Kind> = Intersection<Placed<EntryIn<R, K>>>;
type NameOf<R extends Registrations, K extends Kind> = EntryIn<R, K>['name'] | ExportReference;

type Sections = { [Key in keyof typeof commonSections]: z.output<(typeof commonSections)[Key]> };

/** The keys under `ajet:` in YAML spelling, with these entries registered. */
export type ConfigYaml<R extends Registrations> = Omit<
  Sections,
  'model' | 'task_reader' | 'task_judge' | 'environment' | 'trainer_common'
> &
  SectionsOf<R, 'backbones'> & {
    backbone: NameOf<R, 'backbones'> | 'debug';
    model: Sections['model'] & { template_family: NameOf<R, 'templates'> | 'auto' };
    task_reader: Sections['task_reader'] & { type: NameOf<R, 'readers'> } & SectionsOf<R, 'readers'>;
    task_judge: { judge_type: NameOf<R, 'judges'> } & SectionsOf<R, 'judges'>;
    environment: Sections['environment'] & { protocol: NameOf<R, 'environments'> | 'none' } & SectionsOf<
        R,
        'environments'
      >;
    trainer_common: Omit<Sections['trainer_common'], 'algorithm'> & {
      algorithm: Sections['trainer_common']['algorithm'] & {
        adv_estimator: NameOf<R, 'algorithms'>;
      } & SectionsOf<R, 'algorithms'>;
    };
  };

/** The common part of the keys under `ajet:`. */
export type CommonYaml = Omit<Sections, 'model' | 'task_reader' | 'task_judge' | 'environment' | 'trainer_common'> & {
  backbone: string;
  model: Sections['model'] & { template_family: string };
  task_reader: Sections['task_reader'] & { type: string };
  task_judge: { judge_type: string };
  environment: Sections['environment'] & { protocol: string };
  trainer_common: Omit<Sections['trainer_common'], 'algorithm'> & {
    algorithm: Sections['trainer_common']['algorithm'] & { adv_estimator: string };
  };
};

/** The common part of every resolved configuration. Each key has a value, and paths are absolute. */
export type CommonConfig = CamelKeys<CommonYaml>;

/** The resolved configuration with these entries. */
export type ConfigOf<R extends Registrations> = CamelKeys<ConfigYaml<R>>;

type PartialKeys<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: PartialKeys<Value[Key]> }
    : Value;

/** A part of a configuration that code gives. Other keys have their defaults. */
export type InputOf<Config> = PartialKeys<Config>;

/** Names that a kind has in addition to those of its entries. */
const ownNames: Readonly<Partial<Record<Kind, { readonly name: string; readonly summary: string }>>> = {
  backbones: { name: 'debug', summary: 'runs episodes, trains nothing' },
  templates: { name: 'auto', summary: 'detected from the chat template' },
  environments: { name: 'none', summary: 'the workflow makes its own world' },
};

/** Returns every name that a configuration may give for a kind, except `path/file.ts->Export`. */
export function namesOf(registrations: EveryRegistration, kind: Kind): readonly string[] {
  const names = registrations[kind].map(({ name }) => name);
  const own = ownNames[kind]?.name;
  return own === undefined ? names : [...names, own];
}

function describeNames(registrations: EveryRegistration, kind: Kind): string {
  const own = ownNames[kind];
  const entries = [...registrations[kind], ...(own === undefined ? [] : [own])];
  const words = entries.map(({ name, summary }) => (summary === undefined ? name : `${name}: ${summary}`));
  return [...words, 'path/file.ts->Export'].join(' | ');
}

function nameSetting(registrations: EveryRegistration, kind: Kind): z.ZodType {
  const isOwnFirst = kind === 'templates' || kind === 'environments';
  const fallback = (isOwnFirst ? ownNames[kind]?.name : registrations[kind][0]?.name) ?? '';
  return setting(z.string(), fallback, describeNames(registrations, kind), { path: 'name' });
}

export type Entries = { readonly registrations: EveryRegistration; readonly outside: OutsideEntries };

type Shape = Readonly<Record<string, z.ZodType>>;

function shapeOfEntry({ name, section, isFlat }: Entry): Shape {
  if (section === undefined || Object.keys(section.shape).length === 0) return {};
  return isFlat === true ? (section.shape as Shape) : { [name]: section };
}

function sectionsOf({ registrations, outside }: Entries, kind: Kind): Shape {
  const own = outside[kind];
  const entries = own === undefined ? registrations[kind] : [...registrations[kind], own];
  return Object.assign({}, ...entries.map(shapeOfEntry)) as Shape;
}

/** Puts the name of the kind first, then the entries' settings, then the common ones. */
function composeSection(entries: Entries, kind: Kind, common: z.ZodObject): z.ZodObject {
  const name = kinds[kind].key.split('.').at(-1) ?? '';
  return z.strictObject({
    [name]: nameSetting(entries.registrations, kind),
    ...sectionsOf(entries, kind),
    ...(common.shape as Shape),
  });
}

/** Returns the schema of everything that `ajet:` may contain, in the order of the manual. */
export function composeSchema(entries: Entries): z.ZodObject {
  const { registrations } = entries;
  const { project_name, experiment_name, experiment_dir, model, debug, ...others } = commonSections;
  const { algorithm, ...trainer } = others.trainer_common.shape;
  const trainerEntries = Object.entries(trainer);
  const at = trainerEntries.findIndex(([key]) => key === 'max_staleness'); // the manual lists `algorithm` before it
  return z.strictObject({
    project_name,
    experiment_name,
    experiment_dir,
    backbone: nameSetting(registrations, 'backbones'),
    model: z.strictObject({ ...model.shape, template_family: nameSetting(registrations, 'templates') }),
    ...others,
    task_reader: composeSection(entries, 'readers', others.task_reader),
    task_judge: composeSection(entries, 'judges', others.task_judge),
    environment: composeSection(entries, 'environments', others.environment),
    trainer_common: z.strictObject({
      ...Object.fromEntries(trainerEntries.slice(0, at)),
      algorithm: composeSection(entries, 'algorithms', algorithm),
      ...Object.fromEntries(trainerEntries.slice(at)),
    }),
    ...sectionsOf(entries, 'backbones'),
    debug,
  });
}
