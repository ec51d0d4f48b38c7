import {
  type ChatMessage,
  type ChatRequest,
  EngineError,
  isDeeperThan,
  requestLimits,
  type ToolSpec,
} from '@agentjet/core';
import type { Tokenizer } from '@agentjet/tokenizer';

type Limits = {
  readonly contextLength: number;
  readonly tokenizer: Pick<Tokenizer, 'countAtLeast'>;
  /** The setting that error messages name as the context limit. Default: `rollout.max_model_len`. */
  readonly contextSetting?: string | undefined;
};

/**
 * Refuses a request that is certainly too long, before it is rendered or encoded. It takes seconds to encode tens of
 * megabytes, and all other episodes would wait. Throws EngineError `bad_request` or `context_overflow`.
 */
export function checkRequestSize(request: ChatRequest, { contextLength, tokenizer, contextSetting }: Limits): void {
  const messages: readonly ChatMessage[] = Array.isArray(request.messages) ? request.messages : [];
  const tools: readonly ToolSpec[] = Array.isArray(request.tools) ? request.tools : [];
  checkCount('messages', messages.length, requestLimits.messages);
  checkCount('tools', tools.length, requestLimits.tools);
  let numCharacters = 0;
  const addLength = (text: string): void => void (numCharacters += text.length);
  for (const tool of tools) if (isDeeperThan(requestLimits.depth, tool, addLength)) throw tooDeep(tool);
  eachText(messages, addLength);
  if (numCharacters <= contextLength || tokenizer.countAtLeast === undefined) return;
  let numTokens = 0;
  const addTokens = (text: string): void => void (numTokens += tokenizer.countAtLeast?.(text) ?? 0);
  for (const tool of tools) isDeeperThan(requestLimits.depth, tool, addTokens);
  eachText(messages, addTokens);
  if (numTokens > contextLength) throw overflow(numTokens, contextLength, contextSetting);
}

function checkCount(name: string, found: number, limit: number): void {
  if (found <= limit) return;
  throw new EngineError(
    'bad_request',
    `The request has ${found} ${name}, and at most ${limit} are allowed. Send fewer.`,
  );
}

/**
 * Calls `visit` with the texts of the messages. It skips values that are not strings, because the messages were not
 * validated yet. A later check refuses such values.
 */
function eachText(messages: readonly ChatMessage[], visit: (text: string) => void): void {
  for (const message of messages) {
    const { content, reasoning, toolCalls } = (message ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof content === 'string') visit(content);
    if (typeof reasoning === 'string') visit(reasoning);
    if (toolCalls !== undefined) isDeeperThan(requestLimits.depth, toolCalls, visit);
  }
}

function tooDeep({ name }: ToolSpec): EngineError {
  return new EngineError(
    'bad_request',
    `The parameters of the tool "${name}" are nested more than ${requestLimits.depth} levels deep. Use a flatter JSON Schema.`,
  );
}

function overflow(numTokens: number, contextLength: number, setting = 'rollout.max_model_len'): EngineError {
  return new EngineError(
    'context_overflow',
    `The request has at least ${numTokens} tokens and the model's context holds ${contextLength}, answer included. Shorten the history, or raise ${setting} if the model's own context is longer.`,
  );
}
