import { isJsonObject, type Random, type ToolSpec } from '@agentjet/core';

type Schema = Readonly<Record<string, unknown>>;

export type FillOptions = {
  /** Every string becomes this text. A number, boolean or enum takes it only if the whole text is such a value. */
  readonly text: string;
  /** Chooses other values. */
  readonly random: Random;
};

/** Deeper schemas, such as recursive ones, get null. */
const deepest = 6;

/** Returns a value of the form that the JSON Schema describes. */
export function fillSchema(schema: unknown, options: FillOptions, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > deepest) return null;
  if ('const' in schema) return schema['const'];
  const values = schema['enum'];
  if (Array.isArray(values) && values.length > 0) return chooseValue(values, options);
  const [alternative] = [schema['anyOf'], schema['oneOf'], schema['allOf']].filter((each) => Array.isArray(each));
  if (alternative !== undefined) return fillSchema(alternative[0], options, depth + 1);
  return fillType(schema, options, depth);
}

function chooseValue(values: readonly unknown[], { text, random }: FillOptions): unknown {
  const named = values.find((value) => String(value) === text.trim());
  return named ?? values[random.int(values.length)];
}

function fillType(schema: Schema, options: FillOptions, depth: number): unknown {
  const type: unknown = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (type === 'object' || isJsonObject(schema['properties'])) return fillObject(schema, options, depth);
  if (type === 'array') return [fillSchema(schema['items'], options, depth + 1)];
  if (type === 'number' || type === 'integer') return fillNumber(schema, options);
  if (type === 'boolean') return fillBoolean(options);
  return type === 'null' ? null : options.text;
}

function fillObject(schema: Schema, options: FillOptions, depth: number): unknown {
  const { properties = {} } = schema;
  const filled = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, property]): [string, unknown] => [name, fillSchema(property, options, depth + 1)],
  );
  return Object.fromEntries(filled);
}

function fillBoolean({ text, random }: FillOptions): boolean {
  if (/^\s*(?:yes|true)\s*$/i.test(text)) return true;
  return /^\s*(?:no|false)\s*$/i.test(text) ? false : random.next() < 0.5;
}

function fillNumber({ minimum, maximum, type }: Schema, { text, random }: FillOptions): number {
  const isNumber = text.trim() !== '' && Number.isFinite(Number(text));
  const said = isNumber ? Number(text) : random.int(10);
  const low = typeof minimum === 'number' ? minimum : -Infinity;
  const high = typeof maximum === 'number' ? maximum : Infinity;
  return Math.min(high, Math.max(low, type === 'integer' ? Math.round(said) : said));
}

/**
 * Returns the last tool whose name suggests that it hands in an answer, such as submit_answer, or else the last tool.
 */
export function submittingTool(tools: readonly ToolSpec[]): ToolSpec | undefined {
  return tools.findLast(({ name }) => /answer|submit|final|finish|respond|reply|result/i.test(name)) ?? tools.at(-1);
}
