import path from 'node:path';
import type { z } from 'zod';
import { ConfigError, toErrorMessage } from '../errors.js';
import { isJsonObject, type JsonObject } from '../json-object.js';
import { checkConfig, type ConfigChecks } from './check-config.js';
import { composeSchema, type CommonConfig, type ConfigOf, type Entries, type InputOf } from './compose-schema.js';
import { createCodeSource, readOverride, readYamlSource, type ConfigSource } from './config-source.js';
import { camelKeys, snakeKeys, toCamelCase } from './key-names.js';
import {
  allKinds,
  kinds,
  type Entry,
  type Kind,
  type OpenableEntry,
  type EveryRegistration,
  type OutsideEntries,
  type Registrations,
} from './registration.js';
import { resolvePaths } from './resolve-paths.js';
import { withoutCredentials } from './show-value.js';
import { defaultOf, listKeys, notesOf, shapeOf } from './setting.js';
import { writeManual } from './write-manual.js';
import { loadYaml, readConfigText } from './read-config-text.js';

/**
 * The configuration of a set of registrations: the common sections, and in their places the sections of every entry.
 * `loadConfig` and its neighbours are methods of a composition, because what a file may say depends on what is registered.
 */

export type LoadOptions = {
  /** Where relative paths are looked for when they are not next to the file, and where outputs go. Default: the process's. */
  readonly cwd?: string;
};

/** A key in YAML spelling, and what it is in either configuration. */
export type ConfigDifference = { readonly key: string; readonly before: unknown; readonly after: unknown };

function readConfigFile(file: string, cwd: string): ConfigSource {
  if (typeof file !== 'string')
    throw new ConfigError(
      'missing_file',
      `The configuration file is ${JSON.stringify(file)}, but must be the path of a YAML file.`,
    );
  const absolute = path.resolve(cwd, file);
  let text: string;
  try {
    text = readConfigText(absolute);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = missing
      ? `There is no configuration file ${absolute}.`
      : `The configuration file ${absolute} cannot be read: ${toErrorMessage(error)}.`;
    throw new ConfigError('missing_file', `${reason} Name a YAML file with --conf.`, { cause: error });
  }
  const relative = path.relative(cwd, absolute);
  return readYamlSource(text, relative.startsWith('..') ? absolute : relative);
}

function compareValues(before: unknown, after: unknown, key: string): readonly ConfigDifference[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => compareValues(before[name], after[name], key === '' ? name : `${key}.${name}`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ key, before, after }];
}

/** The values without the secrets among them, and without those in addresses. */
function withoutSecrets(values: JsonObject, schema: z.ZodType): JsonObject {
  const shape = shapeOf(schema);
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const known = shape[key];
      if (known !== undefined && notesOf(known).isSecret === true) return [key, null];
      if (typeof value === 'string') return [key, withoutCredentials(value)];
      return [key, known !== undefined && isJsonObject(value) ? withoutSecrets(value, known) : value];
    }),
  );
}

/** Two entries of one kind cannot have one name, nor an entry the name of a section that is there already. */
function checkNames(registrations: EveryRegistration): void {
  for (const kind of allKinds) {
    const names = registrations[kind].map(({ name }) => name);
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined)
      throw new ConfigError(
        'duplicate_name',
        `Two entries have the name "${repeated}" as ${kinds[kind].noun}. Give one of them another name.`,
      );
  }
}

function checkSectionNames(kind: Kind, entry: Entry, taken: ReadonlySet<string>): void {
  const { section, isFlat, name } = entry;
  const added = section === undefined ? [] : isFlat === true ? Object.keys(section.shape) : [name];
  const prefix = kinds[kind].host === '' ? '' : `${kinds[kind].host}.`;
  const clash = added.find((key) => taken.has(`${prefix}${key}`));
  if (clash !== undefined)
    throw new ConfigError(
      'duplicate_name',
      `The ${kinds[kind].noun} "${name}" brings a section "${prefix}${clash}", which the configuration has already. Give it another name.`,
    );
}

/** The settings of an entry, in camelCase, as the configuration has them. */
export function sectionOf(config: CommonConfig, kind: Kind, { name, section, isFlat }: Entry): JsonObject {
  if (section === undefined) return {};
  const parts = kinds[kind].host.split('.').filter((part) => part !== '');
  const host = parts.reduce<unknown>((inner, part) => (isJsonObject(inner) ? inner[toCamelCase(part)] : {}), config);
  const values = isJsonObject(host) ? host : {};
  if (isFlat === true)
    return Object.fromEntries(Object.keys(section.shape).map((key) => [toCamelCase(key), values[toCamelCase(key)]]));
  const own = values[toCamelCase(name)];
  return isJsonObject(own) ? own : (camelKeys(defaultOf(section)) as JsonObject);
}

/** Opens an entry with its own section of the configuration. */
export function openEntry<Common, Made>(
  kind: Kind,
  entry: OpenableEntry<Common, Made>,
  config: CommonConfig,
  common: Common,
): Made | Promise<Made> {
  return entry.open(sectionOf(config, kind, entry) as never, common);
}

/** What may be said and how it is read, for one set of registrations. `Config` is what it resolves to. */
export type ConfigComposition<Config extends CommonConfig = CommonConfig> = {
  readonly registrations: EveryRegistration;
  /**
   * The defaults, then the file (null: none), then the overrides (`key.path=value`, with or without `ajet.` in front).
   * Throws ConfigError naming file and line, the value seen and the repair.
   */
  load(file: string | null, overrides?: readonly string[], options?: LoadOptions): Config;
  /** The defaults, then what code gives. Throws ConfigError like `load`. */
  create(input?: InputOf<Config>, options?: LoadOptions): Config;
  /** The configuration as a YAML text that `load` reads back. `comment` lines go on top; secrets do not go in. */
  format(config: Config, comment?: string): string;
  /**
   * The configuration with other values for some keys, checked as one that was written so. `where` names them in messages. Throws
   * ConfigError like `load`.
   */
  overlay(config: Config, values: JsonObject, where: string): Config;
  /** Keys, in YAML spelling, whose values differ. */
  compare(before: Config, after: Config): readonly ConfigDifference[];
  /** Keys of registered sections that may change between a run and its continuation. */
  readonly freeOnResume: readonly string[];
  /** The text of `default.yaml`. */
  writeManual(): string;
  /** The same with an entry from outside, which `path/file.ts->Export` names. From then on its section is checked. */
  with(kind: Kind, entry: Entry): ConfigComposition<Config>;
  /** Checks a configuration of `base` again under this composition, as it was written. */
  recheck(config: Config): Config;
};

/** Where a configuration came from, so that it can be checked again when more entries are known. */
type Origin = { readonly sources: readonly ConfigSource[]; readonly folders: readonly string[]; readonly cwd: string };
const origins = new WeakMap<object, Origin>();

function listFreeKeys({ registrations, outside }: Entries): readonly string[] {
  return allKinds.flatMap((kind) =>
    [...registrations[kind], outside[kind] ?? []]
      .flat()
      .flatMap(({ name, isFlat, freeOnResume = [] }) =>
        freeOnResume.map((key) =>
          [kinds[kind].host, isFlat === true ? '' : name, key].filter((part) => part !== '').join('.'),
        ),
      ),
  );
}

function compose(registrations: EveryRegistration, outside: OutsideEntries): ConfigComposition {
  const schema = composeSchema({ registrations, outside });
  const checks: ConfigChecks = {
    registrations,
    outside,
    schema,
    knownKeys: listKeys(schema).map(([key]) => key),
    defaults: { values: defaultOf(schema) as JsonObject, locate: () => 'default.yaml' },
  };
  const resolve = (origin: Origin): CommonConfig => {
    const checked = checkConfig(origin.sources, checks) as unknown as JsonObject;
    const config = camelKeys(resolvePaths(checked, schema, origin)) as unknown as CommonConfig;
    origins.set(config, origin);
    return config;
  };
  const create = (input: JsonObject, cwd: string): CommonConfig =>
    resolve({ sources: [createCodeSource(snakeKeys(input), 'the options given in code')], folders: [cwd], cwd });
  return {
    registrations,
    load(file, overrides = [], { cwd = process.cwd() } = {}) {
      const sources = [...(file === null ? [] : [readConfigFile(file, cwd)]), ...overrides.map(readOverride)];
      const fileFolders = file === null ? [] : [path.dirname(path.resolve(cwd, file))];
      return resolve({ sources, folders: [...fileFolders, cwd], cwd });
    },
    create: (input = {}, { cwd = process.cwd() } = {}) => create(input as JsonObject, cwd),
    recheck: (config) => {
      const origin = origins.get(config);
      return origin === undefined ? create(config as unknown as JsonObject, process.cwd()) : resolve(origin);
    },
    overlay: (config, values, where) => {
      const origin = origins.get(config);
      const base = origin?.sources ?? [
        createCodeSource(snakeKeys(config as unknown as JsonObject), 'the configuration'),
      ];
      const cwd = process.cwd();
      const sources = [...base, createCodeSource(snakeKeys(values), where)];
      return resolve({ folders: [cwd], cwd, ...origin, sources });
    },
    format(config, comment = '') {
      const top = comment === '' ? '' : `${comment.trim().replace(/^/gm, '# ')}\n`;
      return top + loadYaml().stringify({ ajet: withoutSecrets(snakeKeys(config), schema) });
    },
    compare: (before, after) => compareValues(snakeKeys(before), snakeKeys(after), ''),
    freeOnResume: listFreeKeys(checks),
    writeManual: () => writeManual(schema),
    with(kind, entry) {
      checkSectionNames(kind, entry, new Set(checks.knownKeys));
      return compose(registrations, { ...outside, [kind]: entry });
    },
  };
}

const withoutEntries = Object.fromEntries(allKinds.map((kind) => [kind, []])) as unknown as EveryRegistration;

/** Throws ConfigError `duplicate_name`. */
export function composeConfig<const R extends Registrations>(registrations: R): ConfigComposition<ConfigOf<R>> {
  const every = { ...withoutEntries, ...registrations };
  checkNames(every);
  return compose(every, {}) as unknown as ConfigComposition<ConfigOf<R>>;
}
