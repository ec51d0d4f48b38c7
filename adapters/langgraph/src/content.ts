import { EngineError, isJsonObject } from '@agentjet/core';
import type { ShownToolCall } from '@agentjet/rollout';
import type { AIMessage, AIMessageChunk, BaseMessage } from '@langchain/core/messages';

/**
 * Reads the content of LangChain's messages. A history may contain answers of other providers, with blocks that this
 * model cannot read. These blocks never make a call fail: the text of a block is shown, and `findUnshownBlocks` lists
 * the other blocks.
 */
type Block = Readonly<Record<string, unknown>>;

/**
 * Types of blocks that belong to tool calls. The first list has the types of whole calls, which may also be in
 * `tool_calls` of the message. The second list has other types, such as pieces of a call.
 */
const calls = new Set(['tool_call', 'tool_use', 'invalid_tool_call', 'function_call']);
const partsOfCalls = new Set(['tool_call_chunk', 'input_json_delta', 'functionCall', 'toolUse']);

/**
 * Returns the text of a message. Throws EngineError `bad_request` if a message that was written for this model has
 * content that it cannot read, such as an image.
 */
export function textOfMessage(message: BaseMessage): string {
  return blocksOf(message)
    .map((block) => textOf(block) ?? (isForeign(message) || isHidden(block) ? '' : refuse(block, message)))
    .join('');
}

/** Returns the thinking in the blocks of an answer, in the form of any provider. */
export function toReasoning(message: BaseMessage): string {
  return blocksOf(message)
    .map((block) => reasoningOf(block) ?? '')
    .join('');
}

/** Returns all calls of an answer, including those that cannot be parsed. */
export function toShownCalls(message: AIMessage | AIMessageChunk): readonly ShownToolCall[] {
  const listed: readonly ShownToolCall[] = [
    ...(message.tool_calls ?? []).map(({ id, name, args }) => ({ id, name, arguments: args })),
    ...(message.invalid_tool_calls ?? []).map(({ id, name = '', args = '' }) => ({ id, name, arguments: args })),
  ];
  const ids = new Set(listed.map(({ id }) => id));
  const others = blocksOf(message).filter((block) => calls.has(typeOf(block)) && !ids.has(idOf(block)));
  return [...listed, ...others.map(toShownCall)];
}

/** Returns the types of blocks that the model does not see, each once. */
export function findUnshownBlocks(messages: readonly BaseMessage[]): readonly string[] {
  const unshown = messages.filter(isForeign).flatMap((message) =>
    blocksOf(message)
      .filter((block) => textOf(block) === undefined && !isHidden(block))
      .map(typeOf),
  );
  return [...new Set(unshown)];
}

function toShownCall(block: Block): ShownToolCall {
  const { name, args, input, arguments: written } = block;
  return { id: idOf(block), name: typeof name === 'string' ? name : '', arguments: args ?? input ?? written ?? {} };
}

function idOf({ id, call_id: callId }: Block): string | undefined {
  const given = callId ?? id;
  return typeof given === 'string' ? given : undefined;
}

/** Whether another model may have written the message. Messages of users, tools and the system are always for this model. */
function isForeign({ type }: BaseMessage): boolean {
  return type === 'ai';
}

function isHidden(block: Block): boolean {
  const type = typeOf(block);
  return calls.has(type) || partsOfCalls.has(type) || reasoningOf(block) !== undefined || type === 'cachePoint';
}

/** Returns the type of a block. In Bedrock's and Gemini's form, the type is the only key of the block. */
function typeOf({ type, ...others }: Block): string {
  return typeof type === 'string' ? type : (Object.keys(others)[0] ?? 'nothing');
}

function textOf({ type, text, refusal }: Block): string | undefined {
  if (type === 'refusal' && typeof refusal === 'string') return refusal;
  return typeof text === 'string' && type !== 'reasoning' && type !== 'thinking' ? text : undefined;
}

/** Returns the thinking in a block of LangChain's, Anthropic's, Bedrock's or OpenAI's form. */
function reasoningOf(block: Block): string | undefined {
  const { type, reasoning, thinking, reasoningText, summary, text } = block;
  if (type !== 'reasoning' && type !== 'thinking' && type !== 'reasoning_content') return undefined;
  const inner = isJsonObject(reasoningText) ? reasoningText['text'] : undefined;
  const summed = Array.isArray(summary) ? summary.map((part: unknown) => (isJsonObject(part) ? part['text'] : '')) : [];
  const found = [reasoning, thinking, inner, text].find((said) => typeof said === 'string');
  return typeof found === 'string' ? found : summed.join('');
}

function blocksOf(message: BaseMessage): readonly Block[] {
  const content: unknown = message.content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if ((content === undefined || content === null) && isForeign(message)) return [];
  if (!Array.isArray(content)) throw noContent(content, message);
  return content.map((block: unknown) => {
    if (typeof block === 'string') return { type: 'text', text: block };
    if (!isJsonObject(block)) throw noContent(block, message);
    return block;
  });
}

function noContent(content: unknown, { type }: BaseMessage): EngineError {
  const seen = JSON.stringify(content)?.slice(0, 200) ?? String(content);
  return new EngineError(
    'bad_request',
    `A message of type "${type}" has the content ${seen}. Pass a string, or an array of content blocks.`,
  );
}

function refuse(block: Block, { type }: BaseMessage): never {
  throw new EngineError(
    'bad_request',
    `Content of type "${typeOf(block)}" in a ${type} message is not supported: the model reads only text.`,
  );
}
