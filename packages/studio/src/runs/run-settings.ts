import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject } from '@agentjet/core';
import { parse } from 'yaml';

/** The settings of a run by their path below `ajet`, such as `rollout.num_repeat`. Empty if config.yaml cannot be read. */
export type Settings = Readonly<Record<string, string>>;

export async function readShownSettings(dir: string): Promise<Settings> {
  try {
    const config: unknown = parse(await readFile(path.join(dir, 'config.yaml'), 'utf8'));
    return Object.fromEntries(flatten(isJsonObject(config) ? (config['ajet'] ?? config) : {}, ''));
  } catch {
    return {}; // the run is shown without its settings
  }
}

function flatten(value: unknown, place: string): readonly (readonly [string, string])[] {
  if (!isJsonObject(value)) return [[place, typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, place === '' ? key : `${place}.${key}`));
}
