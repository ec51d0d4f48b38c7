import { isJsonObject, type JsonObject, type ToolSpec } from '@agentjet/core';
import { defineTemplateFamily } from '../template-family.js';
import { type BlockSection, createTaggedAnswer, endBlock } from '../hermes/registration.js';
import type { WrittenCall } from '../../reply/json-call.js';

export const qwen3Coder = defineTemplateFamily({
  name: 'qwen3_coder',
  summary: 'Qwen3-Coder, calls in XML',
  recognizes: (source) => ['<tool_call>', '<function=', '<parameter='].every((tag) => source.includes(tag)),
  turnEnds: ['<|im_end|>'],
  createAnswer: (builder, { tools = [] } = {}) => createTaggedAnswer(builder, createBlock(tools), false),
  openCall: (name) => `<tool_call>\n<function=${name === undefined ? '' : `${name}>\n`}`,
});

const closeTag = '</tool_call>';
const functionEnd = '</function>';
const parameterEnd = '</parameter>';

/**
 * Parses a block `<function=NAME><parameter=KEY>VALUE</parameter>...</function></tool_call>`. Values are plain text;
 * the schema of the tool decides which of them are numbers, lists and so on. A value may contain these tags, so a
 * closing tag counts only if the block before it is complete.
 */
function createBlock(tools: readonly ToolSpec[]): BlockSection {
  const block: BlockSection = (builder, before) => {
    let isBegun = false;
    return (text, isLast) => {
      const found = readBlock(text, tools, isLast);
      if (found === undefined) {
        isBegun ||= text.includes('>');
        // Only a tag's last character can end the block.
        return { rest: text, ...(isBegun && { isAwaited: (added: string) => added.includes('>') }) };
      }
      const { length, call } = found;
      return {
        rest: text.slice(length),
        next: endBlock(builder, block, { ...before, text: text.slice(0, length), call }),
      };
    };
  };
  return block;
}

type Block = { readonly length: number; readonly call: WrittenCall | undefined };

/** Reads a block up to its end. Returns undefined if the block is not complete. */
function readBlock(text: string, tools: readonly ToolSpec[], isLast: boolean): Block | undefined {
  const first = text.indexOf(closeTag);
  for (let at = first; at !== -1; at = text.indexOf(closeTag, at + 1)) {
    const body = text.slice(0, at).trim();
    const length = at + closeTag.length;
    const call = body.endsWith(functionEnd) ? readFunction(body, tools) : undefined;
    if (call !== undefined) return { length, call };
    if (!/^<function=[^<>\s]+>/.test(body)) break;
  }
  const isOther = first !== -1 && !/^\s*<function=[^<>\s]+>/.test(text);
  if (!isLast && !isOther) return undefined;
  return { length: first === -1 ? text.length : first + closeTag.length, call: undefined };
}

const functionStart = /^<function=([^<>\s]+)>/;
const parameterStart = /^\s*<parameter=([^<>\n]+)>/;
/** Matches what follows a parameter: another parameter, or the end of the function. */
const afterParameter = /^\s*(<parameter=[^<>\n]+>|$)/;

function readFunction(body: string, tools: readonly ToolSpec[]): WrittenCall | undefined {
  const [start = '', name = ''] = functionStart.exec(body) ?? [];
  if (start === '') return undefined;
  const schema = tools.find((tool) => tool.name === name)?.parameters ?? {};
  const written = new Map<string, string>();
  let rest = body.slice(start.length, -functionEnd.length);
  while (rest.trim() !== '') {
    const [open = '', key = ''] = parameterStart.exec(rest) ?? [];
    const end = open === '' ? -1 : findParameterEnd(rest, open.length);
    if (end === -1) return undefined;
    const value = rest.slice(open.length, end).replace(/^\n/, '').replace(/\n$/, '');
    written.set(key, toJson(value, propertyOf(schema, key), schema));
    rest = rest.slice(end + parameterEnd.length);
  }
  const pairs = [...written].map(([key, value]) => `${JSON.stringify(key)}: ${value}`);
  return { name, arguments: `{${pairs.join(', ')}}` };
}

function findParameterEnd(text: string, from: number): number {
  for (let at = text.indexOf(parameterEnd, from); at !== -1; at = text.indexOf(parameterEnd, at + 1))
    if (afterParameter.test(text.slice(at + parameterEnd.length))) return at;
  return -1;
}

function propertyOf(schema: JsonObject, key: string): unknown {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'];
}

/**
 * Returns the value as JSON, in its own spelling, for the first type of the schema that it fits. Otherwise it is a
 * string.
 */
function toJson(value: string, schema: unknown, root: JsonObject): string {
  const { types, constants } = formsOf(schema, root, 0);
  const constant = constants.find((each) => typeof each !== 'string' && String(each) === value.trim());
  if (constant !== undefined) return JSON.stringify(constant);
  const type = otherTypes.find((each) => types.has(each.name) && each.read(value.trim()) !== undefined);
  return type?.read(value.trim()) ?? JSON.stringify(value);
}

/**
 * The types other than string, each with a function that reads its value from text. The function returns JSON, or
 * undefined if the value does not fit.
 */
const otherTypes: readonly { readonly name: string; read(text: string): string | undefined }[] = [
  { name: 'null', read: (text) => (/^(null|None)$/.test(text) ? 'null' : undefined) },
  { name: 'boolean', read: (text) => (/^(true|false)$/i.test(text) ? text.toLowerCase() : undefined) },
  ...['integer', 'number'].map((name) => ({ name, read: (text: string) => asJson(text, 'number') })),
  { name: 'object', read: (text) => (text.startsWith('{') ? asJson(text, 'object') : undefined) },
  { name: 'array', read: (text) => (text.startsWith('[') ? asJson(text, 'object') : undefined) },
];

function asJson(text: string, type: 'number' | 'object'): string | undefined {
  try {
    return typeof JSON.parse(text) === type ? text : undefined;
  } catch {
    return undefined; // the value is a string
  }
}

type Forms = { readonly types: ReadonlySet<unknown>; readonly constants: readonly unknown[] };

/** The maximum depth of a schema. Schemas that people write are less deep, but a schema may refer to itself. */
const deepest = 8;

/** Returns types and constants that a schema names, directly or through its alternatives and references. */
function formsOf(schema: unknown, root: JsonObject, depth: number): Forms {
  if (!isJsonObject(schema) || depth > deepest) return { types: new Set(), constants: [] };
  const { type, enum: listed = [], anyOf = [], oneOf = [], allOf = [], $ref: reference } = schema;
  const lists = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const inner = [...lists, ...(typeof reference === 'string' ? [follow(reference, root)] : [])];
  const forms = inner.map((each) => formsOf(each, root, depth + 1));
  const implied = [...('properties' in schema ? ['object'] : []), ...('items' in schema ? ['array'] : [])];
  return {
    types: new Set([
      ...(Array.isArray(type) ? (type as unknown[]) : [type]),
      ...implied,
      ...forms.flatMap(({ types }) => [...types]),
    ]),
    constants: [
      ...(Array.isArray(listed) ? (listed as unknown[]) : []),
      ...('const' in schema ? [schema['const']] : []),
      ...forms.flatMap(({ constants }) => constants),
    ],
  };
}

/** Returns the target of a reference within the schema, such as `#/$defs/Place`. */
function follow(reference: string, root: JsonObject): unknown {
  const [start, ...keys] = reference.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (start !== '#') return undefined;
  return keys.reduce<unknown>((at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root);
}
