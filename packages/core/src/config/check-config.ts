import type { z } from 'zod';
import { ConfigError } from '../errors.js';
import type { ConfigSource } from './config-source.js';
import { isJsonObject, type JsonObject } from '../json-object.js';
import { findNearestKey } from './nearest-key.js';
import { findAdvice, findValueAdvice } from './retired-keys.js';
import { configSchema, knownKeys, type ConfigYaml } from './schema.js';

type Problem = { readonly code: string; readonly message: string };

/** Later values win; lists are replaced whole; an empty section (`rollout:` and nothing below) changes nothing. */
function mergeValues(base: unknown, over: unknown): unknown {
  if (!isJsonObject(base)) return over;
  if (over === null || over === undefined) return base;
  if (!isJsonObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = mergeValues(base[key], value);
  return merged;
}

function hasKey(values: JsonObject, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (first === undefined) return true;
  if (!Object.hasOwn(values, first)) return false;
  const inner = values[first];
  return rest.length === 0 || (isJsonObject(inner) && hasKey(inner, rest));
}

/** The last source that wrote the key, or the nearest section above it. */
function locate(sources: readonly ConfigSource[], key: string): string {
  const path = key.split('.');
  for (let length = path.length; length > 0; length--) {
    const source = sources.findLast(({ values }) => hasKey(values, path.slice(0, length)));
    if (source !== undefined) return source.locate(key);
  }
  return 'the configuration';
}

function valueAt(values: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    values,
  );
}

/** `z` says it in terms of types; this says it in words. */
function expectationOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return (
        (
          {
            int: 'a whole number',
            number: 'a number',
            string: 'a text',
            boolean: 'true or false',
            array: 'a list',
            object: 'a section',
            tuple: 'a list',
          } as Record<string, string>
        )[issue.expected] ?? issue.expected
      );
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.origin === 'array' && issue.minimum > 1) return `${issue.minimum} values`;
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'not empty'
        : `${issue.inclusive === false ? 'greater than' : 'at least'} ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array' ? `at most ${issue.maximum} values` : `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** JSON has no word for .nan and .inf. */
function show(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'missing');
}

/** A section is too long to show, and an override shows its value itself. */
function describeValue(value: unknown, place: string): string {
  return isJsonObject(value) || place.startsWith('the override') ? '' : `, with the value ${show(value)}`;
}

function describeUnknownKey(key: string, values: JsonObject, sources: readonly ConfigSource[]): Problem {
  const place = locate(sources, key);
  const advice = findAdvice(key);
  if (advice !== undefined)
    return { code: 'unknown_key', message: `"${key}" in ${place} has no meaning here. ${advice}` };
  const nearest = findNearestKey(key, knownKeys);
  const repair = nearest === undefined ? 'Remove it; default.yaml lists every key.' : `Did you mean "${nearest}"?`;
  return {
    code: 'unknown_key',
    message: `Unknown key "${key}" in ${place}${describeValue(valueAt(values, key.split('.')), place)}. ${repair}`,
  };
}

function describeIssue(
  issue: z.core.$ZodIssue,
  values: JsonObject,
  sources: readonly ConfigSource[],
): readonly Problem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => describeUnknownKey([...path, name].join('.'), values, sources));
  const key = path.filter((name) => !/^\d+$/.test(name)).join('.');
  const seen = valueAt(values, issue.path);
  const advice = findValueAdvice(key, seen);
  const message = `"${key}" in ${locate(sources, key)} is ${show(seen)}, but must be ${expectationOf(issue)}.`;
  return [{ code: 'wrong_type', message: advice === undefined ? message : `${message} ${advice}` }];
}

function findConflicts(config: ConfigYaml, sources: readonly ConfigSource[]): readonly Problem[] {
  const { max_prompt_length: prompt, max_response_length: response } = config.data;
  const { max_model_len: limit, max_response_length_in_one_turn: turn } = config.rollout;
  const problems: Problem[] = [];
  const report = (message: string): void => void problems.push({ code: 'conflict', message });
  if (prompt + response > limit) {
    report(
      `"data.max_prompt_length" ${prompt} + "data.max_response_length" ${response} = ${prompt + response} is more than "rollout.max_model_len" ${limit} (${locate(sources, 'rollout.max_model_len')}). Raise max_model_len or lower the other two.`,
    );
  }
  if (turn >= limit) {
    report(
      `"rollout.max_response_length_in_one_turn" ${turn} (${locate(sources, 'rollout.max_response_length_in_one_turn')}) leaves no room for a prompt within "rollout.max_model_len" ${limit}. Lower it.`,
    );
  }
  const { max_staleness: staleness, mini_batch_num: parts, ppo_epochs: passes } = config.trainer_common;
  if (staleness > 0 && staleness < parts * passes) {
    report(
      `"trainer_common.max_staleness" ${staleness} (${locate(sources, 'trainer_common.max_staleness')}) lets nothing be sampled ahead: a batch makes mini_batch_num ${parts} x ppo_epochs ${passes} = ${parts * passes} versions. Set it to at least that, or to 0.`,
    );
  }
  return problems;
}

/** Settings that the embedded backbone would leave without effect. */
function findUnsupported(config: ConfigYaml, sources: readonly ConfigSource[]): readonly Problem[] {
  if (config.backbone !== 'onnx') return [];
  const { trainer_common: trainer, lora } = config;
  const wanted = [
    ['trainer_common.loss_mode', trainer.loss_mode, trainer.loss_mode !== 'ppo'],
    ['trainer_common.tis_cap', trainer.tis_cap, trainer.tis_cap !== 0],
    ['lora.rank', lora.rank, lora.rank !== 0],
  ] as const;
  return wanted
    .filter(([, , isWanted]) => isWanted)
    .map(([key, value]) => ({
      code: 'conflict',
      message: `"${key}" in ${locate(sources, key)} is ${JSON.stringify(value)}, which the backbone onnx does not have. Remove it, or use backbone: torch.`,
    }));
}

function throwProblems(problems: readonly Problem[]): void {
  const [first] = problems;
  if (first !== undefined) throw new ConfigError(first.code, problems.map(({ message }) => message).join('\n'));
}

/** Merges the sources, later ones winning, and checks the result. Throws ConfigError with every problem found, a line each. */
export function checkConfig(sources: readonly ConfigSource[]): ConfigYaml {
  const values = sources.reduce<JsonObject>((merged, source) => mergeValues(merged, source.values) as JsonObject, {});
  const parsed = configSchema.safeParse(values);
  if (!parsed.success) throwProblems(parsed.error.issues.flatMap((issue) => describeIssue(issue, values, sources)));
  const config = parsed.data as ConfigYaml;
  throwProblems([...findConflicts(config, sources), ...findUnsupported(config, sources)]);
  return config;
}
