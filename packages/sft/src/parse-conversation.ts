import { isJsonObject, type ChatRequest, type JsonObject, type Task } from '@agentjet/core';
import { chatCompletionSchema, parseBody, toChatRequest, ApiError } from '@agentjet/chat-completions';
import { checkTask } from '@agentjet/rollout';
import type { Conversation } from './conversation.js';

/**
 * One line of a JSONL file of conversations: `messages` and `tools` in OpenAI's fine-tuning format, and our fields of
 * the episode. Other keys are ignored.
 */
export type ConversationLine = {
  readonly conversation: Conversation;
  /** Lines with the same id are one episode. If it is undefined, the line is a whole episode. */
  readonly episodeId: string | undefined;
  readonly task: Task | null;
  readonly reward: number | null;
  readonly isSuccess: boolean | null;
  readonly hasFailed: boolean;
};

const requestKeys = ['messages', 'tools', 'tool_choice', 'response_format'] as const;

/** The error of a line, without its place. */
export class BadLine extends Error {}

/** Throws BadLine if the line is wrong. */
export function parseConversation(line: JsonObject): ConversationLine {
  const given = Object.fromEntries(requestKeys.flatMap((key) => (line[key] == null ? [] : [[key, line[key]]])));
  if (!Array.isArray(given['messages'])) throw new BadLine(withoutMessages(line));
  const messages = completeIds(given['messages'] as readonly unknown[]);
  messages.forEach(checkSpoken);
  const { tools, toolChoice, responseFormat, ...request } =
    // Allow a line without messages: its episode ended before the first call.
    messages.length === 0 ? ({ messages: [] } as ChatRequest) : toRequest({ ...given, messages });
  const agentName = readText(line, 'agent') ?? 'assistant';
  const conversation = {
    agentName,
    targetTag: readText(line, 'target') ?? agentName,
    messages: request.messages,
    imitated: request.messages.map(({ role }, at) => role === 'assistant' && weightOf(messages[at], at) === 1),
    ...(tools !== undefined && { tools }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(responseFormat !== undefined && { responseFormat }),
  };
  return {
    conversation,
    episodeId: readText(line, 'episode_id'),
    task: readTask(line),
    reward: readReward(line),
    isSuccess: readFlag(line, 'is_success'),
    hasFailed: line['status'] === 'failed',
  };
}

function withoutMessages(line: JsonObject): string {
  const keys = Object.keys(line);
  const known = ['conversations', 'prompt', 'input'].find((key) => keys.includes(key));
  const hint = known === undefined ? '' : ` A line with "${known}" is of another format: write it as messages.`;
  return `it has no list "messages", only ${keys.slice(0, 8).join(', ') || 'no keys'}.${hint}`;
}

function toRequest(body: JsonObject): ChatRequest {
  try {
    return toChatRequest(parseBody('chat', chatCompletionSchema, { model: 'any', ...body }));
  } catch (error) {
    if (error instanceof ApiError) throw new BadLine(error.message);
    throw error;
  }
}

/**
 * Completes tool calls, because data sets often lack the ids of calls and have arguments as objects. Missing ids become
 * numbers, and arguments become JSON strings.
 */
function completeIds(messages: readonly unknown[]): readonly unknown[] {
  let numCalls = 0;
  let open: string[] = [];
  return messages.map((message) => {
    if (!isJsonObject(message)) return message;
    if (message['role'] === 'tool') {
      const id = message['tool_call_id'] ?? open[0];
      open = open.filter((other) => other !== id);
      return { ...message, tool_call_id: id };
    }
    const calls = message['tool_calls'];
    if (!Array.isArray(calls)) return message;
    const completed = calls.map((call: unknown) => completeCall(call, `call_${numCalls++}`));
    open = completed.flatMap((call) => (isJsonObject(call) && typeof call['id'] === 'string' ? [call['id']] : []));
    return { ...message, tool_calls: completed };
  });
}

function completeCall(call: unknown, id: string): unknown {
  if (!isJsonObject(call)) return call;
  const { function: called } = call;
  const isParsed = isJsonObject(called) && isJsonObject(called['arguments']);
  return {
    id,
    ...call,
    ...(isParsed && { function: { ...called, arguments: JSON.stringify(called['arguments']) } }),
  };
}

/** Refuses messages that would be read and imitated as an empty answer. */
function checkSpoken(message: unknown, at: number): void {
  if (!isJsonObject(message) || message['role'] !== 'assistant') return;
  const { content, tool_calls: calls, function_call: call, weight } = message;
  if (call != null)
    throw new BadLine(
      `messages[${at}].function_call is the older form of a call. Write "tool_calls": [{"id": ..., "type": "function", "function": ${JSON.stringify(call).slice(0, 80)}}].`,
    );
  const hasCalls = Array.isArray(calls) && calls.length > 0;
  if (content == null && !hasCalls && weight !== 0)
    throw new BadLine(`messages[${at}] is an answer with neither content nor tool_calls. Give it one, or "weight": 0.`);
}

/**
 * Reads OpenAI's `weight` of an assistant's message. With 0 the message is only context, and with 1, the default, it is
 * imitated.
 */
function weightOf(message: unknown, at: number): 0 | 1 {
  const weight = isJsonObject(message) ? (message['weight'] ?? 1) : 1;
  if (weight === 0 || weight === 1) return weight;
  throw new BadLine(`messages[${at}].weight is ${JSON.stringify(weight)}; it must be 0 or 1.`);
}

function readTask(line: JsonObject): Task | null {
  const { task } = line;
  const taskId = readText(line, 'task_id');
  if (task == null) return taskId === undefined ? null : { taskId, mainQuery: '', initMessages: [], metadata: {} };
  if (!isJsonObject(task)) throw new BadLine(`"task" is ${JSON.stringify(task)}; it must be an object.`);
  const { task_id: id = taskId, main_query: mainQuery, init_messages: initMessages, metadata } = task;
  try {
    return checkTask({ taskId: id, mainQuery, initMessages, metadata }, '"task"');
  } catch (error) {
    throw new BadLine(error instanceof Error ? error.message : String(error));
  }
}

function readText(line: JsonObject, key: string): string | undefined {
  const value = line[key];
  if (value == null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number') return String(value);
  throw new BadLine(`"${key}" is ${JSON.stringify(value)}; it must be a string.`);
}

function readReward({ reward }: JsonObject): number | null {
  if (reward == null) return null;
  if (typeof reward === 'number' && Number.isFinite(reward)) return reward;
  throw new BadLine(`"reward" is ${JSON.stringify(reward)}; it must be a number.`);
}

function readFlag(line: JsonObject, key: string): boolean | null {
  const value = line[key];
  if (value == null) return null;
  if (typeof value === 'boolean') return value;
  throw new BadLine(`"${key}" is ${JSON.stringify(value)}; it must be true or false.`);
}
