import {
  parseJsonObject,
  type AssistantMessage,
  type ChatDelta,
  type ChatResponse,
  type ToolCall,
} from '@agentjet/core';
import { AIMessageChunk, type AIMessageChunkFields, type UsageMetadata } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { stashKey } from './chat-request.js';

/**
 * AIMessageChunk, except that arguments which are no JSON stay invalid. LangChain's own chunks repair them when they
 * are streamed and not when they are not, so that the same answer would lead to two different episodes.
 */
class TunedMessageChunk extends AIMessageChunk {
  constructor(fields: AIMessageChunkFields) {
    super(fields);
    const chunks = this.tool_call_chunks ?? [];
    if (chunks.length === 0) return;
    const parsed = chunks.map((chunk) => ({
      id: chunk.id,
      name: chunk.name ?? '',
      text: chunk.args ?? '',
      args: parseJsonObject(chunk.args ?? ''),
    }));
    this.tool_calls = parsed.flatMap(({ id, name, args }) =>
      args === undefined ? [] : [{ type: 'tool_call' as const, name, args, ...(id !== undefined && { id }) }],
    );
    this.invalid_tool_calls = parsed.flatMap(({ id, name, text, args }) =>
      args === undefined
        ? [
            {
              type: 'invalid_tool_call' as const,
              name,
              args: text,
              error: 'The arguments are not a JSON object.',
              ...(id !== undefined && { id }),
            },
          ]
        : [],
    );
  }
}
// Checkpoints store a message under its class's name, and know this one only as LangChain's own.
Object.defineProperty(TunedMessageChunk, 'name', { value: 'AIMessageChunk' });

/** A piece of a streamed answer. */
export function toDeltaChunk(delta: ChatDelta): ChatGenerationChunk {
  const text = delta.type === 'content' ? delta.text : '';
  const message = new TunedMessageChunk({
    content: text,
    ...(delta.type === 'reasoning' && { additional_kwargs: { reasoning_content: delta.text } }),
    ...(delta.type === 'tool_call' && { tool_call_chunks: [toToolCallChunk(delta.toolCall, delta.index)] }),
  });
  return new ChatGenerationChunk({ text, message });
}

/** The last piece: what is known only at the end, and the stash, whole and once, since LangChain joins texts of chunks. */
export function toFinalChunk(response: ChatResponse): ChatGenerationChunk {
  const message = new TunedMessageChunk({
    content: '',
    additional_kwargs: { [stashKey]: toPlain(response.message) },
    response_metadata: toResponseMetadata(response),
    usage_metadata: toUsage(response),
  });
  return new ChatGenerationChunk({ text: '', message, generationInfo: { finish_reason: response.finishReason } });
}

/** The whole answer at once: the same message that the joined pieces make. */
export function toWholeChunk(response: ChatResponse): ChatGenerationChunk {
  const { content, reasoning, toolCalls = [] } = response.message;
  const message = new TunedMessageChunk({
    content,
    additional_kwargs: {
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      [stashKey]: toPlain(response.message),
    },
    tool_call_chunks: toolCalls.map(toToolCallChunk),
    response_metadata: toResponseMetadata(response),
    usage_metadata: toUsage(response),
  });
  return new ChatGenerationChunk({ text: content, message, generationInfo: { finish_reason: response.finishReason } });
}

function toToolCallChunk(call: ToolCall, index: number) {
  return { type: 'tool_call_chunk' as const, index, id: call.id, name: call.name, args: call.arguments };
}

/** LangChain merges dictionaries key by key and joins texts: a copy keeps ours out of its hands. */
function toPlain(message: AssistantMessage): Record<string, unknown> {
  return structuredClone(message);
}

function toResponseMetadata(response: ChatResponse): Record<string, unknown> {
  const logprobs = response.logprobs?.map(({ text, logprob }) => ({ token: text, logprob, top_logprobs: [] }));
  return {
    model_name: response.model,
    finish_reason: response.finishReason,
    ...(logprobs !== undefined && { logprobs: { content: logprobs } }),
  };
}

/** LangChain's types know no usage on messages without a declared structure; its code does. */
function toUsage({ usage }: ChatResponse): never {
  const metadata: UsageMetadata = {
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
  return metadata as never;
}
