import type { BaseLanguageModelInput, StructuredOutputMethodOptions } from '@langchain/core/language_models/base';
import type { AIMessageChunk } from '@langchain/core/messages';
import { type BaseOutputParser, JsonOutputParser, StructuredOutputParser } from '@langchain/core/output_parsers';
import { type Runnable, RunnableLambda } from '@langchain/core/runnables';
import { toJsonSchema } from '@langchain/core/utils/json_schema';
import { isInteropZodSchema } from '@langchain/core/utils/types';
import type { TunedCallOptions, TunedChatModel } from './tuned-chat-model.js';

type Output = Record<string, unknown>;
type Structured = Runnable<BaseLanguageModelInput, Output>;

/** JSON text in the answer, parsed; where the schema is zod's, also checked. Parser errors are LangChain's own. */
export function withJsonOutput(model: TunedChatModel, schema: object, config: StructuredOutputMethodOptions<boolean>): Structured {
  const asking = model.withConfig({ response_format: toWireFormat(schema, config) } satisfies Partial<TunedCallOptions>);
  const parser: BaseOutputParser<Output> = isInteropZodSchema(schema) ? StructuredOutputParser.fromZodSchema(schema) : new JsonOutputParser<Output>();
  return config.includeRaw === true ? withRaw(asking, parser) : asking.pipe(parser);
}

function toWireFormat(schema: object, { method, name }: StructuredOutputMethodOptions<boolean>): unknown {
  if (method === 'jsonMode') return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: name ?? 'answer', schema: isInteropZodSchema(schema) ? toJsonSchema(schema) : schema } };
}

/** `{ raw, parsed }`, with parsed null where the answer could not be read. */
function withRaw(asking: Runnable<BaseLanguageModelInput, AIMessageChunk>, parser: BaseOutputParser<Output>): Structured {
  const parse = async (raw: AIMessageChunk): Promise<Output> => ({ raw, parsed: await parser.invoke(raw).catch(() => null) });
  return asking.pipe(RunnableLambda.from(parse));
}
