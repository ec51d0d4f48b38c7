import { EngineError } from '@agentjet/core';
import { findMismatch } from '@agentjet/rollout';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { interopSafeParseAsync, type InteropZodType, isInteropZodSchema } from '@langchain/core/utils/types';

/** The schema of an answer: the JSON schema for the model and the check of its answer. */
export type OutputSchema = {
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly json: Readonly<Record<string, unknown>>;
  /** Returns the value as the schema parses it, with defaults and transforms, or what is wrong with it. */
  readonly check: (value: unknown) => Promise<{ readonly value: unknown } | { readonly wrong: string }>;
};

/**
 * Reads a schema: a zod schema, a Standard Schema (Valibot, ArkType), a JSON schema, or a JSON schema in OpenAI's `{
 * name, description, parameters }` or `{ name, schema }`. Throws EngineError `bad_request` for a schema without a JSON
 * schema.
 */
export function readSchema(schema: object): OutputSchema {
  if (isInteropZodSchema(schema)) {
    const json: Json = { ...toJsonSchema(schema) };
    return { ...wordsOf(json), json, check: (value) => checkZod(schema, value) };
  }
  const standard = '~standard' in schema ? (schema as StandardSchema) : undefined;
  if (standard !== undefined) {
    const json = toStandardJson(standard);
    return { ...wordsOf(json), json, check: (value) => checkStandard(standard, json, value) };
  }
  return readJsonSchema(schema as Json);
}

type Json = Readonly<Record<string, unknown>>;
type Checked = Awaited<ReturnType<OutputSchema['check']>>;

/** See https://standardschema.dev. All schemas have `validate`, and some have `jsonSchema`. */
type StandardSchema = {
  readonly '~standard': {
    readonly vendor?: string;
    readonly validate?: (value: unknown) => StandardResult | Promise<StandardResult>;
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Json };
  };
  /** Only ArkType has this method. */
  readonly toJsonSchema?: () => Json;
};
type StandardIssue = { readonly message: string; readonly path?: readonly unknown[] | undefined };
type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

function toStandardJson(schema: StandardSchema): Json {
  const { vendor = 'unknown', jsonSchema } = schema['~standard'];
  const json = jsonSchema?.input({ target: 'draft-07' }) ?? schema.toJsonSchema?.();
  if (json !== undefined) return json;
  throw new EngineError(
    'bad_request',
    `The schema of withStructuredOutput (vendor "${vendor}") has no JSON schema, so the model would not see what is wanted. ` +
      'Pass one with "~standard".jsonSchema; for Valibot: toStandardJsonSchema(schema) of @valibot/to-json-schema.',
  );
}

async function checkStandard(schema: StandardSchema, json: Json, value: unknown): Promise<Checked> {
  const { validate } = schema['~standard'];
  if (validate === undefined) return checkJson(json, value);
  const result = await validate(value);
  return result.issues === undefined ? { value: result.value } : { wrong: toWords(result.issues) };
}

async function checkZod(schema: InteropZodType, value: unknown): Promise<Checked> {
  const result = await interopSafeParseAsync(schema, value);
  return result.success ? { value: result.data } : { wrong: toWords(result.error.issues) };
}

function checkJson(json: Json, value: unknown): Checked {
  const wrong = findMismatch(json, value);
  return wrong === undefined ? { value } : { wrong };
}

function toWords(issues: readonly StandardIssue[]): string {
  return issues.map(({ path = [], message }) => `${path.map(keyOf).join('.') || 'the whole'}: ${message}`).join('; ');
}

function keyOf(segment: unknown): string {
  return String(typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment);
}

function readJsonSchema(schema: Json): OutputSchema {
  const wrapped = schema['parameters'] ?? schema['schema'];
  const isWrapped = typeof schema['name'] === 'string' && typeof wrapped === 'object' && wrapped !== null;
  const json = isWrapped ? (wrapped as Json) : schema;
  return { ...wordsOf(schema), json, check: async (value) => checkJson(json, value) };
}

function wordsOf({ name, title, description }: Json): Pick<OutputSchema, 'name' | 'description'> {
  return {
    name: [name, title].find((text): text is string => typeof text === 'string' && /^[\w-]+$/.test(text)),
    description: typeof description === 'string' ? description : undefined,
  };
}
