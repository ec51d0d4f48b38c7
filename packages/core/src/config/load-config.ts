import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { ConfigError, toErrorMessage } from '../errors.js';
import { checkConfig } from './check-config.js';
import { createCodeSource, readOverride, readYamlSource, type ConfigSource } from './config-source.js';
import { isJsonObject, type JsonObject } from '../json-object.js';
import { camelKeys, snakeKeys } from './key-names.js';
import { resolvePaths } from './resolve-paths.js';
import type { AgentJetConfig, ConfigInput, ConfigYaml } from './schema.js';

/** The commented file that explains every key and gives its default. */
export const defaultConfigFile: string = fileURLToPath(new URL('../../default.yaml', import.meta.url));

type LoadOptions = {
  /** Where relative paths are looked for when they are not beside the file, and where outputs go. Default: the process's. */
  readonly cwd?: string;
};

function readConfigFile(file: string, cwd: string): ConfigSource {
  if (typeof file !== 'string')
    throw new ConfigError(
      'missing_file',
      `The configuration file is ${JSON.stringify(file)}, but must be the path of a YAML file.`,
    );
  const absolute = path.resolve(cwd, file);
  let text: string;
  try {
    text = readFileSync(absolute, 'utf8');
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = missing
      ? `There is no configuration file ${absolute}.`
      : `The configuration file ${absolute} cannot be read: ${toErrorMessage(error)}.`;
    throw new ConfigError('missing_file', `${reason} Name a YAML file with --conf.`, { cause: error });
  }
  const relative = path.relative(cwd, absolute);
  return readYamlSource(text, relative.startsWith('..') ? absolute : relative);
}

const readDefaults = (): ConfigSource => readYamlSource(readFileSync(defaultConfigFile, 'utf8'), 'default.yaml');

/**
 * The defaults, then the file, then the overrides (`key.path=value`, with or without `ajet.` in front).
 * Throws ConfigError naming file and line, the value seen and the repair.
 */
export function loadConfig(file: string, overrides: readonly string[] = [], options: LoadOptions = {}): AgentJetConfig {
  const cwd = options.cwd ?? process.cwd();
  const config = checkConfig([readDefaults(), readConfigFile(file, cwd), ...overrides.map(readOverride)]);
  return camelKeys(resolvePaths(config, [path.dirname(path.resolve(cwd, file)), cwd], cwd));
}

/** The defaults, then what code gives. Throws ConfigError like `loadConfig`. */
export function createConfig(input: ConfigInput = {}, options: LoadOptions = {}): AgentJetConfig {
  const cwd = options.cwd ?? process.cwd();
  const config = checkConfig([
    readDefaults(),
    createCodeSource(snakeKeys(input as JsonObject), 'the options given in code'),
  ]);
  return camelKeys(resolvePaths(config, [cwd], cwd));
}

/** The configuration as a YAML text that `loadConfig` reads back. `comment` lines go on top; a written API key or token does not. */
export function formatConfig(config: AgentJetConfig, comment = ''): string {
  const values = snakeKeys(config) as ConfigYaml;
  const safe = { ...values, debug: { ...values.debug, api_key: null }, torch: { ...values.torch, token: null } };
  const head = comment === '' ? '' : `${comment.trim().replace(/^/gm, '# ')}\n`;
  return head + stringify({ ajet: safe });
}

/** A key in YAML spelling, and what it is in either configuration. */
export type ConfigDifference = { readonly key: string; readonly before: unknown; readonly after: unknown };

function compareValues(before: unknown, after: unknown, key: string): readonly ConfigDifference[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => compareValues(before[name], after[name], key === '' ? name : `${key}.${name}`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ key, before, after }];
}

/** Keys, in YAML spelling, whose values differ. */
export function compareConfigs(before: AgentJetConfig, after: AgentJetConfig): readonly ConfigDifference[] {
  return compareValues(snakeKeys(before), snakeKeys(after), '');
}
