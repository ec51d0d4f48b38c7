import { EngineError, parseJsonObject } from '@agentjet/core';
import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from '@langchain/core/language_models/base';
import type { AIMessageChunk } from '@langchain/core/messages';
import { OutputParserException } from '@langchain/core/output_parsers';
import { type Runnable, RunnableLambda } from '@langchain/core/runnables';
import { toLangChainError } from './errors.js';
import { type OutputSchema, readSchema } from './output-schema.js';
import type { TunedChatModel } from './tuned-chat-model.js';

type Output = Record<string, unknown>;
type Structured = Runnable<BaseLanguageModelInput, Output>;
type Config = StructuredOutputMethodOptions<boolean>;

/**
 * Returns the answer as an object, from JSON text or from a tool call whose opening is given to the model. The model's
 * text is checked unchanged, because LangChain's own parsers look for code fences even inside strings. Errors have
 * LangChain's own types.
 */
export function toStructured(model: TunedChatModel, schema: object, config: Config): Structured {
  const [asking, read] = plan(model, schema, config);
  const withRaw = async (raw: AIMessageChunk): Promise<Output> => ({ raw, parsed: await read(raw).catch(() => null) });
  return asking.pipe(RunnableLambda.from(config.includeRaw === true ? withRaw : read));
}

type Asking = Runnable<BaseLanguageModelInput, AIMessageChunk>;
type Read = (answer: AIMessageChunk) => Promise<Output>;
type Plan = readonly [Asking, Read];

function plan(model: TunedChatModel, schema: object, config: Config): Plan {
  try {
    const wanted = readSchema(schema);
    switch (config.method) {
      case 'jsonSchema':
      case 'jsonMode':
        return askForJson(model, wanted, config);
      case 'functionCalling':
      case undefined:
        return askForCall(model, wanted, config);
      default:
        throw new EngineError(
          'bad_request',
          `The method "${config.method}" of withStructuredOutput is not known. Use functionCalling, jsonSchema or jsonMode.`,
        );
    }
  } catch (error) {
    throw toLangChainError(error);
  }
}

function askForJson(model: TunedChatModel, wanted: OutputSchema, config: Config): Plan {
  const { method = 'jsonSchema' } = config;
  const asking = model.withConfig({ response_format: toWireFormat(wanted, config), ...toTrace(wanted, method) });
  return [asking, async ({ text }) => checked(wanted, readJson(text), text)];
}

function askForCall(model: TunedChatModel, wanted: OutputSchema, config: Config): Plan {
  const name = config.name ?? wanted.name ?? 'extract';
  const { description = 'The answer.', json: parameters } = wanted;
  const tool = { type: 'function', function: { name, description, parameters, ...strictOf(config) } };
  const asking = model.bindTools([tool], { tool_choice: name, ...toTrace(wanted, 'functionCalling') });
  return [asking, (answer) => readCall(answer, name, wanted)];
}

async function readCall(answer: AIMessageChunk, name: string, wanted: OutputSchema): Promise<Output> {
  const { tool_calls: calls = [], invalid_tool_calls: invalid = [], text } = answer;
  const call = calls.find((made) => made.name === name);
  if (call !== undefined) return checked(wanted, call.args, JSON.stringify(call.args));
  const unreadable = invalid.find((made) => made.name === name)?.args;
  throw unreadable === undefined
    ? new OutputParserException(`The answer has no readable call of "${name}": ${excerpt(text)}`, text)
    : new OutputParserException(
        `The arguments of the call of "${name}" are not a JSON object: ${excerpt(unreadable)}`,
        unreadable,
      );
}

/** Reads JSON, alone or in the code block that models often put around it. */
function readJson(text: string): unknown {
  const fenced = /^\s*```(?:json)?[^\S\n]*\n([^]*?)\n\s*```\s*$/m.exec(text)?.[1];
  const value = parseJsonObject(text) ?? (fenced === undefined ? undefined : parseJsonObject(fenced));
  if (value === undefined) throw new OutputParserException(`The answer is not a JSON object: ${excerpt(text)}`, text);
  return value;
}

async function checked(wanted: OutputSchema, value: unknown, written: string): Promise<Output> {
  const result = await wanted.check(value);
  if ('value' in result) return result.value as Output;
  throw new OutputParserException(
    `The answer does not match the schema (${result.wrong}): ${excerpt(written)}`,
    written,
  );
}

function excerpt(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)} ...` : text;
}

/** The part of the request that tracers show. */
function toTrace({ json }: OutputSchema, method: string) {
  return { ls_structured_output_format: { kwargs: { method }, schema: { ...json } } };
}

function toWireFormat(wanted: OutputSchema, config: Config): unknown {
  if (config.method === 'jsonMode') return { type: 'json_object' };
  const { description, json: schema } = wanted;
  const name = config.name ?? wanted.name ?? 'answer';
  return {
    type: 'json_schema',
    json_schema: { name, ...(description !== undefined && { description }), schema, ...strictOf(config) },
  };
}

function strictOf({ strict }: Config) {
  return strict === undefined ? {} : { strict };
}
