import type { Document, Pair, YAMLMap } from 'yaml';
import { ConfigError, toErrorMessage } from '../errors.js';
import { isJsonObject, type JsonObject } from '../json-object.js';
import { cutText, isSecretKey, showValue } from './show-value.js';
import { loadYaml } from './read-config-text.js';

/**
 * One origin of settings: a file, an override, or code. `values` is the content of `ajet:`; `locate` returns where a dotted
 * key was written, for messages ("math-agent.yaml:14").
 */
export type ConfigSource = {
  readonly values: JsonObject;
  /** Set if the values come from a preset. The user's file then has no line with them. */
  readonly isPreset?: true;
  locate(key: string): string;
};

function toErrorAtLine(name: string, document: Document.Parsed): ConfigError | undefined {
  const [problem] = document.errors;
  if (problem === undefined) return undefined;
  const [position] = problem.linePos ?? [];
  const place = position === undefined ? name : `${name}:${position.line}:${position.col}`;
  const [reason = 'it cannot be parsed'] = problem.message.replace(/ at line \d+, column \d+:?/, '').split('\n');
  return new ConfigError('bad_yaml', `${place} is not valid YAML: ${reason.replace(/:$/, '')}. Correct that line.`, {
    cause: problem,
  });
}

const mostCharacters = 1 << 20;
const mostAnchors = 100;

/**
 * Refuses a file that is too large to be written by a person. This happens before the file is parsed, because the
 * parser takes minutes for many thousand anchors.
 */
function checkSize(text: string, name: string): void {
  if (text.length > mostCharacters)
    throw new ConfigError(
      'bad_yaml',
      `${name} has ${text.length} characters; a configuration has at most ${mostCharacters}. Name the YAML file of a job, and keep data in other files.`,
    );
  if (!text.includes('&')) return;
  let numAnchors = 0;
  const { Lexer } = loadYaml();
  for (const token of new Lexer().lex(text)) if (token.startsWith('&')) numAnchors++;
  if (numAnchors > mostAnchors)
    throw new ConfigError(
      'bad_yaml',
      `${name} has ${numAnchors} anchors (&name); a configuration has at most ${mostAnchors}. Write the values where they belong.`,
    );
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns the path of a value that contains itself, or of a key that would change the object's prototype. Undefined if there is none. */
function findStrange(
  value: unknown,
  path: readonly string[],
  above: readonly unknown[],
): readonly string[] | undefined {
  if (!isObject(value)) return undefined;
  if (above.includes(value)) return path;
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, key];
    const found = key === '__proto__' ? at : findStrange(inner, at, [...above, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Checks that values are a tree. An alias within its own anchor would be endless. */
function checkTree(root: unknown, name: string, locate: (path: readonly string[]) => string): void {
  const path = findStrange(root, [], []);
  if (path === undefined) return;
  if (path.at(-1) === '__proto__')
    throw new ConfigError(
      'unknown_key',
      `Unknown key "__proto__" in ${locate(path)}. Remove it; default.yaml lists every key.`,
    );
  throw new ConfigError(
    'bad_yaml',
    `${name} is not valid YAML: "${path.join('.')}" in ${locate(path)} is an alias (*name) of a value that contains it. Write the value instead of the alias.`,
  );
}

function findPair(map: YAMLMap, key: string): Pair | undefined {
  const { isScalar } = loadYaml();
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
}

/** Returns the offset of the deepest part of the path that the document contains. */
function findOffset(document: Document.Parsed, path: readonly string[]): number | undefined {
  const { isMap, isScalar } = loadYaml();
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const name of path) {
    const pair = isMap(node) ? findPair(node, name) : undefined;
    if (pair === undefined) return offset;
    offset = isScalar(pair.key) ? pair.key.range?.[0] : offset;
    node = pair.value;
  }
  return offset;
}

function checkRoot(root: unknown, name: string, locate: (key: string) => string): JsonObject {
  if (root === null || root === undefined) {
    throw new ConfigError('missing_section', `${name} is empty. Everything belongs under the key "ajet:".`);
  }
  if (!isJsonObject(root)) {
    throw new ConfigError(
      'wrong_type',
      `${name} holds ${showValue('', root)}, not a mapping. Everything belongs under the key "ajet:".`,
    );
  }
  const stranger = Object.keys(root).find((key) => key !== 'ajet');
  if (stranger !== undefined) {
    throw new ConfigError(
      'unknown_key',
      `Unknown key "${cutText(stranger)}" at the top of ${locate(stranger)}. Everything belongs under "ajet:"; move it there or remove it.`,
    );
  }
  return root;
}

/** Resolves anchors. A missing anchor, or one that expands without end, is reported as invalid YAML. */
function toValues(document: Document.Parsed, name: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ConfigError(
      'bad_yaml',
      `${name} is not valid YAML: ${toErrorMessage(error)}. Correct the anchors (&name) and aliases (*name).`,
      { cause: error },
    );
  }
}

/** Reads settings from YAML; messages show `name` as the file name. */
export function readYamlSource(text: string, name: string): ConfigSource {
  checkSize(text, name);
  const { LineCounter, parseDocument } = loadYaml();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true });
  const error = toErrorAtLine(name, document);
  if (error !== undefined) throw error;
  const locatePath = (path: readonly string[]): string => {
    const offset = findOffset(document, path);
    return offset === undefined ? name : `${name}:${lines.linePos(offset).line}`;
  };
  const parsed = toValues(document, name);
  checkTree(parsed, name, locatePath);
  const root = checkRoot(parsed, name, (key) => locatePath([key]));
  const values = root['ajet'] ?? {};
  if (!isJsonObject(values)) {
    throw new ConfigError(
      'wrong_type',
      `"ajet" in ${locatePath(['ajet'])} is ${showValue('', values)}, but must be a mapping of sections.`,
    );
  }
  return { values, locate: (key) => locatePath(['ajet', ...key.split('.')]) };
}

/** Returns an override for messages. Secrets are left out, and a long value is cut. */
function showOverride(override: string): string {
  const equals = override.indexOf('=');
  const key = override.slice(0, Math.max(0, equals)).trim();
  return `"${cutText(isSecretKey(key) ? `${key}=...` : override)}"`;
}

function parseOverrideValue(override: string, text: string): unknown {
  try {
    checkSize(text, `The override ${showOverride(override)}`);
    const document = loadYaml().parseDocument(text);
    const value: unknown = document.errors.length === 0 ? document.toJS() : undefined;
    if (document.errors.length === 0 && findStrange(value, [], []) === undefined) return value;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    // Treat an alias without an anchor, for which the parser throws, as invalid YAML.
  }
  throw new ConfigError(
    'bad_override',
    `The value of the override ${showOverride(override)} is not valid YAML. Quote it, for example 'key.path="the text"'.`,
  );
}

/** Reads one `key.path=value` of a command line. The value is YAML. */
export function readOverride(override: string): ConfigSource {
  const equals = override.indexOf('=');
  const key = override
    .slice(0, equals)
    .trim()
    .replace(/^ajet\./, '');
  if (equals < 0 || key === '') {
    throw new ConfigError(
      'bad_override',
      `"${cutText(override)}" is not an override. Write key.path=value, for example rollout.num_repeat=4.`,
    );
  }
  const names = key.split('.');
  if (names.includes('__proto__'))
    throw new ConfigError(
      'unknown_key',
      `Unknown key "${cutText(key)}" in the override ${showOverride(override)}. Remove it.`,
    );
  const value = parseOverrideValue(override, override.slice(equals + 1));
  const values = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return { values: values as JsonObject, locate: () => `the override ${showOverride(override)}` };
}

/** Creates a source from settings that code gives, with snake_case keys. */
export function createCodeSource(values: JsonObject, name: string): ConfigSource {
  checkTree(values, name, () => name);
  return { values, locate: () => name };
}
