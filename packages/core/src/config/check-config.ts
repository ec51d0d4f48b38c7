import { z } from 'zod';
import { ConfigError } from '../errors.js';
import { isJsonObject, valueAtPath, type JsonObject } from '../json-object.js';
import { namesOf, type CommonYaml, type Entries } from './compose-schema.js';
import type { ConfigSource } from './config-source.js';
import { findConflicts, findUnsupported, type Problem } from './find-conflicts.js';
import { findNearestKey } from './key-names.js';
import { acceptOriginalKeys } from './original-keys.js';
import { presetSources } from './presets.js';
import { allKinds, isExportReference, kinds, type Kind } from './registration.js';
import { findAdvice, findFieldAdvice, findValueAdvice } from './retired-keys.js';
import { shapeOf } from './setting.js';
import { cutText, showValue } from './show-value.js';

/** The entries and keys that a configuration is checked against. */
export type ConfigChecks = Entries & {
  readonly schema: z.ZodObject;
  /** Every key as a dotted path. */
  readonly knownKeys: readonly string[];
  readonly defaults: ConfigSource;
};

/**
 * Returns `base` with the values of `over`. Lists are replaced as a whole. An empty section (`rollout:` with nothing
 * below) changes nothing.
 */
function mergeValues(base: unknown, over: unknown): unknown {
  if (!isJsonObject(base)) return over;
  if (over === null || over === undefined) return base;
  if (!isJsonObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over))
    merged[key] = mergeValues(Object.hasOwn(base, key) ? base[key] : undefined, value);
  return merged;
}

function mergeSources(sources: readonly ConfigSource[]): JsonObject {
  return sources.reduce<JsonObject>((merged, source) => mergeValues(merged, source.values) as JsonObject, {});
}

function hasKey(values: JsonObject, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  if (!Object.hasOwn(values, first)) return false;
  const inner = values[first];
  return rest.length === 0 || (isJsonObject(inner) && hasKey(inner, rest));
}

/** Returns the last source that wrote the key, or that wrote the nearest section above it. */
function sourceOf(sources: readonly ConfigSource[], key: string): ConfigSource | undefined {
  const path = key.split('.');
  for (let length = path.length; length > 0; length--) {
    const source = sources.findLast(({ values }) => hasKey(values, path.slice(0, length)));
    if (source !== undefined) return source;
  }
  return undefined;
}

function locate(sources: readonly ConfigSource[], key: string): string {
  return sourceOf(sources, key)?.locate(key) ?? 'the configuration';
}

const typeWords: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'a section',
  tuple: 'a list',
};

/** Describes in words what zod describes as types. */
function expectationOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeWords[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union':
      return [...new Set(issue.errors.flatMap(([first]) => (first === undefined ? [] : [expectationOf(first)])))].join(
        ' or ',
      );
    case 'too_small':
      if (issue.origin === 'array' && issue.minimum > 1) return `${issue.minimum} values`;
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'not empty'
        : `${issue.inclusive === false ? 'greater than' : 'at least'} ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array'
        ? `at most ${issue.maximum} values`
        : `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/**
 * Returns the value for a message. A section is too long to show, and the message of an override already shows the
 * value.
 */
function describeValue(key: string, value: unknown, place: string): string {
  return isJsonObject(value) || place.startsWith('the override') ? '' : `, with the value ${showValue(key, value)}`;
}

const lastNameOf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);

function describeUnknownKey(
  key: string,
  { values, sources, knownKeys }: Pick<ConfigChecks, 'knownKeys'> & Merged,
): Problem {
  const place = locate(sources, key);
  const advice = findAdvice(key);
  const shown = cutText(key);
  if (advice !== undefined)
    return { code: 'unknown_key', message: `"${shown}" in ${place} has no meaning here. ${advice}` };
  const nearest = findNearestKey(key, knownKeys);
  const fieldAdvice = findFieldAdvice(key);
  const isNearer = nearest !== undefined && lastNameOf(nearest) === lastNameOf(key) && !fieldAdvice?.includes(nearest);
  if (fieldAdvice !== undefined && !isNearer)
    return { code: 'unknown_key', message: `Unknown key "${shown}" in ${place}. ${fieldAdvice}` };
  const repair = nearest === undefined ? 'Remove it; default.yaml lists every key.' : `Did you mean "${nearest}"?`;
  const value = describeValue(nearest ?? key, valueAtPath(values, key.split('.')), place);
  return { code: 'unknown_key', message: `Unknown key "${shown}" in ${place}${value}. ${repair}` };
}

type Merged = { readonly values: JsonObject; readonly sources: readonly ConfigSource[] };

function describeIssue(issue: z.core.$ZodIssue, merged: Merged & ConfigChecks): readonly Problem[] {
  const { values, sources } = merged;
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => describeUnknownKey([...path, name].join('.'), merged));
  const key = path.filter((name) => !/^\d+$/.test(name)).join('.');
  const seen = valueAtPath(values, issue.path);
  const advice = findValueAdvice(key, seen);
  const message = `"${key}" in ${locate(sources, key)} is ${showValue(key, seen)}, but must be ${expectationOf(issue)}.`;
  return [{ code: 'wrong_type', message: advice === undefined ? message : `${message} ${advice}` }];
}

/** Returns the name that the configuration gives for a kind, or undefined if it is not a string. */
function nameOf(values: JsonObject, kind: Kind): string | undefined {
  const name = valueAtPath(values, kinds[kind].key.split('.'));
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function findUnknownNames({ values, sources, registrations }: Merged & ConfigChecks): readonly Problem[] {
  return allKinds.flatMap((kind) => {
    const { key, noun } = kinds[kind];
    const names = namesOf(registrations, kind);
    const name = nameOf(values, kind);
    if (name === undefined || names.includes(name) || isExportReference(name)) return [];
    const nearest = findNearestKey(name, names);
    const advice = findValueAdvice(key, name) ?? (nearest === undefined ? undefined : `Did you mean "${nearest}"?`);
    const message = `"${key}" in ${locate(sources, key)} is ${showValue(key, name)}, but must be one of ${names.join(', ')}.`;
    const own = `To use ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun} from your code, write path/file.ts->Export.`;
    return [{ code: 'wrong_type', message: `${message} ${advice ?? own}` }];
  });
}

/**
 * Returns the settings of an entry that is named by `path/file.ts->Export`. They are checked when its file has been
 * loaded. Until then, unknown keys in the section of its kind are kept unchecked.
 */
function findDeferred({ values, schema, outside }: Merged & ConfigChecks): JsonObject {
  return allKinds.reduce<JsonObject>((deferred, kind) => {
    const name = nameOf(values, kind);
    if (name === undefined || !isExportReference(name) || outside[kind] !== undefined) return deferred;
    const path = kinds[kind].host.split('.').filter((part) => part !== '');
    const host = valueAtPath(values, path);
    const known = path.reduce<z.ZodType>((inner, part) => shapeOf(inner)[part] ?? z.never(), schema);
    const unknown = Object.entries(isJsonObject(host) ? host : {}).filter(
      ([key, value]) =>
        !Object.hasOwn(shapeOf(known), key) &&
        findAdvice([...path, key].join('.')) === undefined &&
        (path.length > 0 || isJsonObject(value)), // the top level holds only sections
    );
    const section = path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), Object.fromEntries(unknown));
    return unknown.length === 0 ? deferred : (mergeValues(deferred, section) as JsonObject);
  }, {});
}

function without(values: JsonObject, removed: JsonObject, schema: z.ZodType): JsonObject {
  const shape = shapeOf(schema);
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => {
      const inner = Object.hasOwn(removed, key) ? removed[key] : undefined;
      if (inner === undefined) return [[key, value] as const];
      const known = shape[key];
      return known !== undefined && isJsonObject(value) && isJsonObject(inner)
        ? [[key, without(value, inner, known)] as const]
        : [];
    }),
  );
}

function throwProblems(problems: readonly Problem[]): void {
  const [first] = problems;
  if (first === undefined) return;
  const shown = problems.slice(0, 50).map(({ message }) => message);
  const more = problems.length > shown.length ? [`... and ${problems.length - shown.length} more.`] : [];
  throw new ConfigError(first.code, [...shown, ...more].join('\n'));
}

/** Merges the sources and checks the result. Later sources win. Throws a ConfigError that lists every problem, one per line. */
export function checkConfig(given: readonly ConfigSource[], checks: ConfigChecks): CommonYaml {
  const { schema, knownKeys, defaults } = checks;
  const written = given.map((source) => acceptOriginalKeys(source, (key) => knownKeys.includes(key)));
  const sources = [defaults, ...presetSources(mergeSources([defaults, ...written]), checks), ...written];
  const values = mergeSources(sources);
  const merged = { ...checks, values, sources };
  const deferred = findDeferred(merged);
  const parsed = schema.safeParse(without(values, deferred, schema));
  const issues = parsed.success ? [] : parsed.error.issues.flatMap((issue) => describeIssue(issue, merged));
  throwProblems([...issues, ...findUnknownNames(merged)]);
  const config = mergeValues(parsed.data, deferred) as CommonYaml;
  throwProblems([
    ...findConflicts(config, (key) => locate(sources, key)),
    ...findUnsupported(config, checks, (key) => sourceOf(sources, key)),
  ]);
  return config;
}
