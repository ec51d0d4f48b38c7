import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from '@langchain/core/language_models/base';
import type { AIMessageChunk } from '@langchain/core/messages';
import {
  type BaseOutputParser,
  JsonOutputParser,
  OutputParserException,
  StructuredOutputParser,
} from '@langchain/core/output_parsers';
import { type Runnable, RunnableLambda } from '@langchain/core/runnables';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { isInteropZodSchema } from '@langchain/core/utils/types';
import type { TunedChatModel } from './tuned-chat-model.js';

type Output = Record<string, unknown>;
type Structured = Runnable<BaseLanguageModelInput, Output>;

/** The answer as an object: from JSON text, or from a call that the model is made to begin. Errors are LangChain's own. */
export function toStructured(
  model: TunedChatModel,
  schema: object,
  config: StructuredOutputMethodOptions<boolean>,
): Structured {
  const isJson = config.method === 'jsonSchema' || config.method === 'jsonMode';
  const [asking, read] = isJson ? askForJson(model, schema, config) : askForCall(model, schema, config);
  const withRaw = async (raw: AIMessageChunk): Promise<Output> => ({ raw, parsed: await read(raw).catch(() => null) });
  return asking.pipe(RunnableLambda.from(config.includeRaw === true ? withRaw : read));
}

type Asking = Runnable<BaseLanguageModelInput, AIMessageChunk>;
type Read = (answer: AIMessageChunk) => Promise<Output>;

function askForJson(
  model: TunedChatModel,
  schema: object,
  config: StructuredOutputMethodOptions<boolean>,
): readonly [Asking, Read] {
  const parser = createParser(schema);
  return [
    model.withConfig({
      response_format: toWireFormat(schema, config),
      ...toTrace(schema, config.method ?? 'jsonSchema'),
    }),
    (answer) => parser.invoke(answer),
  ];
}

function askForCall(
  model: TunedChatModel,
  schema: object,
  config: StructuredOutputMethodOptions<boolean>,
): readonly [Asking, Read] {
  const { name, description, parameters } = describe(schema, config, 'extract');
  const tool = { type: 'function', function: { name, description: description ?? 'The answer.', parameters } };
  const parser = createParser(schema);
  const read: Read = async ({ tool_calls: calls = [] }) => {
    const call = calls.find((made) => made.name === name);
    if (call === undefined) throw new OutputParserException(`The answer has no readable call of "${name}".`);
    return parser.parse(JSON.stringify(call.args));
  };
  return [model.bindTools([tool], { tool_choice: name, ...toTrace(schema, 'functionCalling') }), read];
}

/** What tracers show of the wish. */
function toTrace(schema: object, method: string) {
  const json = isInteropZodSchema(schema) ? toJsonSchema(schema) : schema;
  return { ls_structured_output_format: { kwargs: { method }, schema: { ...json } } };
}

/** Checks what it reads where the schema is zod's. */
function createParser(schema: object): BaseOutputParser<Output> {
  return isInteropZodSchema(schema) ? StructuredOutputParser.fromZodSchema(schema) : new JsonOutputParser<Output>();
}

function toWireFormat(schema: object, config: StructuredOutputMethodOptions<boolean>): unknown {
  if (config.method === 'jsonMode') return { type: 'json_object' };
  const { name, parameters } = describe(schema, config, 'answer');
  return { type: 'json_schema', json_schema: { name, schema: parameters } };
}

type Described = { readonly name: string; readonly description: string | undefined; readonly parameters: object };

/** A schema is zod's, a JSON schema, or one that stands in OpenAI's `{ name, description, parameters }` or `{ name, schema }`. */
function describe(
  schema: object,
  { name: given }: StructuredOutputMethodOptions<boolean>,
  otherwise: string,
): Described {
  if (isInteropZodSchema(schema))
    return { name: given ?? otherwise, description: undefined, parameters: toJsonSchema(schema) };
  const { name, title, description, parameters, schema: inner } = schema as Readonly<Record<string, unknown>>;
  const wrapped = parameters ?? inner;
  const called = [given, name, title].find((text): text is string => typeof text === 'string' && /^[\w-]+$/.test(text));
  return {
    name: called ?? otherwise,
    description: typeof description === 'string' ? description : undefined,
    parameters: typeof name === 'string' && typeof wrapped === 'object' && wrapped !== null ? wrapped : schema,
  };
}
