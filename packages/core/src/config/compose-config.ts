import path from 'node:path';
import type { z } from 'zod';
import { codeOfError, ConfigError, toErrorMessage } from '../errors.js';
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
import { defaultOf, findReaching, listKeys, notesOf, shapeOf, type ReachingSetting } from './setting.js';
import { writeManual } from './write-manual.js';
import { loadYaml, readConfigText } from './read-config-text.js';

/**
 * The configuration of a set of registrations: the common sections with the sections of all entries in their places.
 * The registrations decide which keys a file may have, so `load` and the other functions are methods of a composition.
 */

export type LoadOptions = {
  /** The folder for outputs, and for relative paths that do not exist next to the file. Default: the process's working directory. */
  readonly cwd?: string;
};

/** A key in YAML spelling, with its value in each configuration. */
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
    const missing = codeOfError(error) === 'ENOENT';
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

/** Returns the values without secrets, and addresses without credentials. */
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

/** Refuses two entries of one kind with the same name, and an entry with the name of an existing section. */
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
      `The ${kinds[kind].noun} "${name}" adds a section "${prefix}${clash}", which the configuration already has. Give it another name.`,
    );
}

/** Returns the settings of an entry, in camelCase, from the configuration. */
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

/** Opens an entry with its section of the configuration. */
export function openEntry<Common, Made>(
  kind: Kind,
  entry: OpenableEntry<Common, Made>,
  config: CommonConfig,
  common: Common,
): Made | Promise<Made> {
  return entry.open(sectionOf(config, kind, entry) as never, common);
}

/** Reads, checks and writes the configuration of one set of registrations. `Config` is the resolved type. */
export type ConfigComposition<Config extends CommonConfig = CommonConfig> = {
  readonly registrations: EveryRegistration;
  /**
   * Merges the defaults, the file (null: none) and the overrides (`key.path=value`, with or without `ajet.` in front).
   * Throws a ConfigError that names file and line, the value seen and the repair.
   */
  load(file: string | null, overrides?: readonly string[], options?: LoadOptions): Config;
  /** Merges the defaults and the values given in code. Throws ConfigError as `load` does. */
  create(input?: InputOf<Config>, options?: LoadOptions): Config;
  /** Returns the configuration as YAML that `load` can read. `comment` lines are placed at the top; secrets are left out. */
  format(config: Config, comment?: string): string;
  /**
   * Replaces the values of some keys, and checks the result as if the user had written it. `where` names these values
   * in messages. Throws ConfigError as `load` does.
   */
  overlay(config: Config, values: JsonObject, where: string): Config;
  /** Returns the keys, in YAML spelling, whose values differ. */
  compare(before: Config, after: Config): readonly ConfigDifference[];
  /**
   * Returns the settings whose values may name code, a program, a file, a folder, an address or an environment variable.
   * Values that are also in `own` are left out.
   */
  findReaching(config: Config, own: Config): readonly ReachingSetting[];
  /** The keys of registered sections that may change when a run is resumed. */
  readonly freeOnResume: readonly string[];
  /** Returns the content of `default.yaml`. */
  writeManual(): string;
  /** Returns this composition with an entry that `path/file.ts->Export` names. The new composition checks the entry's section. */
  with(kind: Kind, entry: Entry): ConfigComposition<Config>;
  /** Takes a configuration that another composition has resolved, and checks what the user wrote again, with the entries of this one. */
  recheck(config: Config): Config;
};

/** The sources of a configuration, kept so that it can be checked again when more entries are known. */
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
    findReaching: (config, own) =>
      findReaching(schema, { given: snakeKeys(config) as JsonObject, own: snakeKeys(own) as JsonObject }),
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
