import { nestAtKey, valueAtPath, type JsonObject } from '../json-object.js';
import type { CommonConfig } from './compose-schema.js';
import { createCodeSource, type ConfigSource } from './config-source.js';
import { snakeKeys } from './key-names.js';
import { allKinds, kinds, type Entry, type EveryRegistration, type Kind, type OutsideEntries } from './registration.js';
import { showValue } from './show-value.js';

/** A preset is an entry with `sets`: its name sets several keys. */

type Known = { readonly registrations: EveryRegistration; readonly outside: OutsideEntries };

/** Returns the value at a dotted key, or undefined if there is none. */
export const valueAtKey = (values: unknown, key: string): unknown => valueAtPath(values, key.split('.'));

function chosenPresets(values: unknown, { registrations, outside }: Known): readonly (readonly [Kind, Entry])[] {
  return allKinds.flatMap((kind) => {
    const name = valueAtKey(values, kinds[kind].key);
    const entry = registrations[kind].find((each) => each.name === name) ?? outside[kind];
    return entry?.sets === undefined ? [] : [[kind, entry] as const];
  });
}

function setsOf({ sets = {} }: Entry, values: JsonObject): readonly (readonly [key: string, value: unknown])[] {
  return Object.entries(sets).map(([key, value]) => [key, typeof value === 'function' ? value(values) : value]);
}

/** Returns one source for each key of the chosen presets. They belong between the defaults and what the user wrote. */
export function presetSources(values: JsonObject, known: Known): readonly ConfigSource[] {
  return chosenPresets(values, known).flatMap(([kind, entry]) =>
    setsOf(entry, values).map(([key, value]) => ({
      ...createCodeSource(nestAtKey(key, value), `the preset "${entry.name}" (${kinds[kind].key})`),
      isPreset: true as const,
    })),
  );
}

/**
 * Describes each preset that the configuration names: the keys that it sets, and the keys whose values the configuration replaces.
 */
export function describePresets(config: CommonConfig, registrations: EveryRegistration): readonly string[] {
  const values = snakeKeys(config as unknown as JsonObject);
  return chosenPresets(values, { registrations, outside: {} }).map(([kind, entry]) => {
    const keys = setsOf(entry, values).map(([key, usual]) => ({ key, usual, value: valueAtKey(values, key) }));
    const kept = keys.filter(({ usual, value }) => usual === value);
    const set = kept.map(({ key, value }) => `${key}=${showValue(key, value)}`).join(', ');
    const replaced = keys
      .filter(({ usual, value }) => usual !== value)
      .map(({ key, usual, value }) => `${key}=${showValue(key, value)} instead of ${showValue(key, usual)}`);
    const name = `${kinds[kind].key.split('.').at(-1)} "${entry.name}"`;
    const first =
      kept.length === 0
        ? `${name} has no effect, because the configuration sets all of its keys.`
        : `${name} sets ${set}.`;
    return replaced.length === 0 ? first : `${first} The configuration overrides it: ${replaced.join(', ')}.`;
  });
}
