import { isMap, isScalar, LineCounter, parseDocument, type Document, type Pair, type YAMLMap } from 'yaml';
import { ConfigError, toErrorMessage } from '../errors.js';
import { isJsonObject, type JsonObject } from '../json-object.js';

/**
 * One origin of settings: a file, an override, or code. `values` stands under `ajet:`; `locate` says where a dotted
 * key was written, for messages ("math-agent.yaml:14").
 */
export type ConfigSource = {
  readonly values: JsonObject;
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

function findPair(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
}

/** Offset of the deepest part of the path that is written in the document. */
function findOffset(document: Document.Parsed, path: readonly string[]): number | undefined {
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
      `${name} holds ${JSON.stringify(root)}, not a mapping. Everything belongs under the key "ajet:".`,
    );
  }
  const stranger = Object.keys(root).find((key) => key !== 'ajet');
  if (stranger !== undefined) {
    throw new ConfigError(
      'unknown_key',
      `Unknown key "${stranger}" at the top of ${locate(stranger)}. Everything belongs under "ajet:"; move it there or remove it.`,
    );
  }
  return root;
}

/** Anchors are looked up only now: one that is missing, or that unfolds without end, is no YAML either. */
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

/** Settings in a YAML text; `name` is the file name that messages show. */
export function readYamlSource(text: string, name: string): ConfigSource {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true });
  const error = toErrorAtLine(name, document);
  if (error !== undefined) throw error;
  const locatePath = (path: readonly string[]): string => {
    const offset = findOffset(document, path);
    return offset === undefined ? name : `${name}:${lines.linePos(offset).line}`;
  };
  const root = checkRoot(toValues(document, name), name, (key) => locatePath([key]));
  const values = root['ajet'] ?? {};
  if (!isJsonObject(values)) {
    throw new ConfigError(
      'wrong_type',
      `"ajet" in ${locatePath(['ajet'])} is ${JSON.stringify(values)}, but must be a mapping of sections.`,
    );
  }
  return { values, locate: (key) => locatePath(['ajet', ...key.split('.')]) };
}

function parseOverrideValue(override: string, text: string): unknown {
  const document = parseDocument(text);
  try {
    if (document.errors.length === 0) return document.toJS();
  } catch {
    // An alias without its anchor: no value either.
  }
  throw new ConfigError(
    'bad_override',
    `The value of the override "${override}" is not valid YAML. Quote it, for example 'key.path="the text"'.`,
  );
}

/** One `key.path=value` from a command line; the value is YAML. */
export function readOverride(override: string): ConfigSource {
  const equals = override.indexOf('=');
  const key = override
    .slice(0, equals)
    .trim()
    .replace(/^ajet\./, '');
  if (equals < 0 || key === '') {
    throw new ConfigError(
      'bad_override',
      `"${override}" is not an override. Write key.path=value, for example rollout.num_repeat=4.`,
    );
  }
  const value = parseOverrideValue(override, override.slice(equals + 1));
  const values = key.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return { values: values as JsonObject, locate: () => `the override "${override}"` };
}

/** Settings made by code, with snake_case keys. */
export function createCodeSource(values: JsonObject, name: string): ConfigSource {
  return { values, locate: () => name };
}
