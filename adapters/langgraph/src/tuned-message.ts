import {
  parseJsonObject,
  type AssistantMessage,
  type ChatDelta,
  type ChatResponse,
  type ToolCall,
} from '@agentjet/core';
import { keptTurnKey } from '@agentjet/rollout';
import {
  AIMessage,
  AIMessageChunk,
  type AIMessageChunkFields,
  type AIMessageFields,
  type ContentBlock,
  type UsageMetadata,
} from '@langchain/core/messages';
import { type ChatGeneration, ChatGenerationChunk } from '@langchain/core/outputs';

type Parsed = {
  readonly tool_calls: NonNullable<AIMessageFields['tool_calls']>;
  readonly invalid_tool_calls: NonNullable<AIMessageFields['invalid_tool_calls']>;
};

/**
 * Parses the arguments of calls. A call whose arguments are not a JSON object stays invalid and keeps the model's text.
 */
function parseCalls(calls: readonly WrittenCall[]): Parsed {
  const parsed = calls.map(({ id, name = '', args: text = '' }) => ({
    call: { name, ...(id !== undefined && { id }) },
    text,
    args: parseJsonObject(text),
  }));
  return {
    tool_calls: parsed.flatMap(({ call, args }) => (args === undefined ? [] : [{ type: 'tool_call', ...call, args }])),
    invalid_tool_calls: parsed.flatMap(({ call, text, args }) =>
      args === undefined
        ? [{ type: 'invalid_tool_call', ...call, args: text, error: 'The arguments are not a JSON object.' }]
        : [],
    ),
  };
}

type WrittenCall = {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly args?: string | undefined;
};

/**
 * Builds the content blocks of LangChain's own messages and adds the thinking, which LangChain reads only from some
 * providers.
 */
function toContentBlocks(message: AIMessage | AIMessageChunk): ContentBlock.Standard[] {
  const { content, additional_kwargs: extra, tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message;
  const reasoning = extra['reasoning_content'];
  const text = typeof content === 'string' ? content : '';
  return [
    ...(typeof reasoning === 'string' && reasoning !== '' ? [{ type: 'reasoning' as const, reasoning }] : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, name, args }) => ({ type: 'tool_call' as const, name, args, ...(id !== undefined && { id }) })),
    ...invalid.map(({ id, name, args, error }) => ({
      type: 'invalid_tool_call' as const,
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      ...(args !== undefined && { args }),
      error: error ?? '',
    })),
  ];
}

class TunedMessage extends AIMessage {
  override get contentBlocks(): ContentBlock.Standard[] {
    return toContentBlocks(this);
  }
}

/**
 * An AIMessageChunk whose non-JSON arguments stay invalid. LangChain's own chunks repair only streamed arguments, so
 * the same answer would lead to one episode if it is streamed and to another one if it is not.
 */
class TunedMessageChunk extends AIMessageChunk {
  constructor(fields: AIMessageChunkFields) {
    super(fields);
    const chunks = this.tool_call_chunks ?? [];
    if (chunks.length > 0) Object.assign(this, parseCalls(chunks));
  }

  override get contentBlocks(): ContentBlock.Standard[] {
    return toContentBlocks(this);
  }
}
// Gives the classes LangChain's own names, because checkpoints store a message under its class name and can load only
// these names.
Object.defineProperty(TunedMessage, 'name', { value: 'AIMessage' });
Object.defineProperty(TunedMessageChunk, 'name', { value: 'AIMessageChunk' });

/** Converts a piece of a streamed answer. */
export function toDeltaChunk(delta: ChatDelta): ChatGenerationChunk {
  const text = delta.type === 'content' ? delta.text : '';
  const message = new TunedMessageChunk({
    content: text,
    ...(delta.type === 'reasoning' && { additional_kwargs: { reasoning_content: delta.text } }),
    ...(delta.type === 'tool_call' && { tool_call_chunks: [toToolCallChunk(delta.toolCall, delta.index)] }),
  });
  return new ChatGenerationChunk({ text, message });
}

/**
 * Creates the last piece, with all that is known only at the end. Only this piece has the whole turn, because LangChain
 * would join the strings of several pieces.
 */
export function toFinalChunk(response: ChatResponse): ChatGenerationChunk {
  const message = new TunedMessageChunk({
    content: '',
    additional_kwargs: { [keptTurnKey]: toPlain(response.message) },
    response_metadata: toResponseMetadata(response),
    usage_metadata: toUsage(response),
  });
  return new ChatGenerationChunk({ text: '', message, generationInfo: { finish_reason: response.finishReason } });
}

/** Converts a whole answer. The result equals the joined pieces. */
export function toWholeAnswer(response: ChatResponse): ChatGeneration {
  const { content, reasoning, toolCalls = [] } = response.message;
  const message = new TunedMessage({
    content,
    additional_kwargs: {
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      [keptTurnKey]: toPlain(response.message),
    },
    ...parseCalls(toolCalls.map(({ id, name, arguments: args }) => ({ id, name, args }))),
    response_metadata: toResponseMetadata(response),
    usage_metadata: toUsage(response),
  });
  return { text: content, message, generationInfo: { finish_reason: response.finishReason } };
}

function toToolCallChunk(call: ToolCall, index: number) {
  return { type: 'tool_call_chunk' as const, index, id: call.id, name: call.name, args: call.arguments };
}

/**
 * Copies the message, because LangChain merges dictionaries key by key and joins strings, which would change the
 * original.
 */
function toPlain(message: AssistantMessage): Record<string, unknown> {
  return structuredClone(message);
}

export function toResponseMetadata(response: ChatResponse): Record<string, unknown> {
  const logprobs = response.logprobs?.map(({ text, logprob }) => ({ token: text, logprob, top_logprobs: [] }));
  return {
    model: response.model,
    model_name: response.model,
    finish_reason: response.finishReason,
    ...(logprobs !== undefined && { logprobs: { content: logprobs } }),
  };
}

export function toUsageMetadata({ usage }: ChatResponse): UsageMetadata {
  return {
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

/**
 * Returns the usage with a cast, because LangChain's types do not allow it on messages without a declared structure.
 * LangChain's code reads it there.
 */
function toUsage(response: ChatResponse): never {
  return toUsageMetadata(response) as never;
}
