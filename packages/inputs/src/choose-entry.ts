import {
  cutText,
  ConfigError,
  isExportReference,
  isGivenInCode,
  kinds,
  type CommonConfig,
  type ConfigComposition,
  type Kind,
  type OpenableEntry,
} from '@agentjet/core';
import { importUserModule, withUserFrames } from '@agentjet/rollout/loading';

/**
 * Finds the backbone, algorithm, reader, judge or template family of a run. A configuration gives the name of a
 * registered one, or names an export of a file. Code may pass a value instead. The export or value is a registration,
 * an instance, or a class of instances.
 */

/** How a kind of entry recognizes its instances. */
export type KindReader<Common, Made> = {
  readonly kind: Kind;
  /**
   * Returns the value itself if it is an instance, or the instance that it creates. Returns undefined for any other
   * value.
   */
  toInstance(value: unknown, where: string): Made | undefined;
  /** The fields that an instance must have, in words for error messages. */
  readonly needs: string;
  /**
   * A field that only a registration has. It distinguishes registrations from instances that also have a name and a
   * method `open`.
   */
  readonly onlyInEntries?: 'section';
  /** This field is never set. Its type is the type of the options that `open` of this kind receives. */
  readonly common?: Common;
};

function isEntry<Common, Made>(value: unknown): value is OpenableEntry<Common, Made> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'name') === 'string' &&
    typeof Reflect.get(value, 'open') === 'function'
  );
}

function nameOf(value: unknown, fallback: string): string {
  const name: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'name') : undefined;
  return typeof name === 'string' && name !== '' ? name : fallback;
}

/**
 * Turns the user's export or argument into an entry. An entry is returned unchanged, and an instance is put into a new
 * entry. Throws ConfigError `bad_<kind>`.
 */
function toEntry<Common, Made>(
  value: unknown,
  where: string,
  { kind, toInstance, needs, onlyInEntries }: KindReader<Common, Made>,
): OpenableEntry<Common, Made> {
  if (isEntry<Common, Made>(value) && (onlyInEntries === undefined || onlyInEntries in value)) return value;
  const { noun } = kinds[kind];
  const instance = toInstance(value, where);
  if (instance === undefined)
    throw new ConfigError(
      `bad_${noun.replaceAll(/\W/g, '_')}`,
      `${where} is not ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}: it is ${describe(value)}. It needs ${needs}; or give a registration { name, section, open }.`,
    );
  return { name: nameOf(instance, noun), open: () => instance };
}

function describe(value: unknown): string {
  if (typeof value === 'string') return cutText(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return `${String(typeof value)}`;
  return `an object with ${Object.keys(value).slice(0, 8).join(', ') || 'no fields'}`;
}

/** Returns an instance of `value` if it is a class with this method, and `value` itself otherwise. */
export function constructed(value: unknown, method: string, where: string): unknown {
  const isClass =
    typeof value === 'function' &&
    (Function.prototype.toString.call(value).startsWith('class') ||
      typeof (value.prototype as Readonly<Record<string, unknown>> | undefined)?.[method] === 'function');
  if (!isClass) return value;
  try {
    return Reflect.construct(value, []);
  } catch (error) {
    throw new ConfigError('module_failed', withUserFrames(`${where} threw while it was constructed`, error), {
      cause: error,
    });
  }
}

/** Whether the value has all of these methods. */
export function hasMethods(value: unknown, ...methods: readonly string[]): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    methods.every((method) => typeof Reflect.get(value, method) === 'function')
  );
}

export type Choice<Common, Made> = {
  readonly entry: OpenableEntry<Common, Made>;
  /** Whether the entry is the user's own. The section of such an entry must be added to the configuration. */
  readonly isOutside: boolean;
};

function nameIn(config: CommonConfig, kind: Kind): string {
  const { backbone, taskReader, taskJudge, environment, trainerCommon, model } = config;
  const names = {
    backbones: backbone,
    readers: taskReader.type,
    judges: taskJudge.judgeType,
    environments: environment.protocol,
    algorithms: trainerCommon.algorithm.advEstimator,
    templates: model.templateFamily,
  };
  return names[kind];
}

/**
 * Returns the entry that code passed or the configuration names. Returns undefined if the name (`debug`, `auto`) does
 * not belong to an entry.
 */
export async function chooseEntry<Common, Made>(
  composition: ConfigComposition,
  config: CommonConfig,
  given: unknown,
  reader: KindReader<Common, Made>,
): Promise<Choice<Common, Made> | undefined> {
  const { kind } = reader;
  const { key, noun } = kinds[kind];
  if (given !== undefined) return { entry: toEntry(given, `The ${noun} given in code`, reader), isOutside: true };
  const name = nameIn(config, kind);
  if (isGivenInCode(name))
    throw new ConfigError(
      'not_given',
      `"${key}" is "${name}": the run was made with a ${noun} given in code. Give it again, or name it as path/file.ts->Export.`,
    );
  if (isExportReference(name)) {
    const exported = await importUserModule(name, process.cwd(), key);
    return { entry: toEntry(exported, `${key} ${name}`, reader), isOutside: true };
  }
  const entry = composition.registrations[kind].find((each) => each.name === name);
  return entry === undefined ? undefined : { entry: entry as OpenableEntry<Common, Made>, isOutside: false };
}
