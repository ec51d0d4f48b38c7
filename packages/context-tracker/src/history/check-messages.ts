import { type ChatMessage, EngineError, toErrorMessage, type ToolSpec } from '@agentjet/core';
import { copyMessage } from './same-message.js';

const roles: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool']);

/** Throws EngineError `bad_request` if the request has no messages. */
export function checkHasMessages(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new EngineError(
      'bad_request',
      'The request has no messages. Send at least one, such as { role: "user", content: "..." }.',
    );
  }
}

/** Checks a message of any framework and returns a copy. Absent text becomes "". Throws EngineError `bad_request`. */
export function checkMessage(message: ChatMessage | undefined | null, at: number): ChatMessage {
  const { role, content, name, reasoning, toolCalls } = (message ?? {}) as Readonly<
    Record<'role' | 'content' | 'name' | 'reasoning' | 'toolCalls', unknown>
  >;
  if (!roles.has(role)) {
    throw new EngineError(
      'bad_request',
      `Message ${at} has the role ${JSON.stringify(role)}. Use system, user, assistant or tool.`,
    );
  }
  if (content !== null && content !== undefined && typeof content !== 'string') {
    const kind = Array.isArray(content) ? 'a list of parts' : `of type ${typeof content}`;
    throw new EngineError(
      'bad_request',
      `The content of message ${at} (${String(role)}) is ${kind}, not a string. Join its text parts into one string.`,
    );
  }
  checkText(name, `The name of message ${at} (${String(role)})`);
  checkText(reasoning, `The reasoning of message ${at} (${String(role)})`);
  checkToolCalls(toolCalls ?? [], at);
  return copyMessage({ ...(message as ChatMessage), content: content ?? '' });
}

function checkText(value: unknown, what: string): void {
  if (value === null || value === undefined || typeof value === 'string') return;
  throw new EngineError(
    'bad_request',
    `${what} is of type ${typeof value}, not a string. Send a string, or leave it out.`,
  );
}

/**
 * Refuses fields of a call that are not strings. A template would print them as they are: arguments given as an object
 * would appear in the prompt as "[object Object]".
 */
function checkToolCalls(toolCalls: unknown, at: number): void {
  if (!Array.isArray(toolCalls))
    throw new EngineError('bad_request', `The toolCalls of message ${at} are of type ${typeof toolCalls}, not a list.`);
  for (const [place, call] of toolCalls.entries()) {
    const { id, name, arguments: written }: { id?: unknown; name?: unknown; arguments?: unknown } = call ?? {};
    const what = `tool call ${place} of message ${at}`;
    if (typeof name !== 'string')
      throw new EngineError(
        'bad_request',
        `The name of ${what} is of type ${typeof name}. A call is { id, name, arguments }.`,
      );
    if (typeof written !== 'string')
      throw new EngineError(
        'bad_request',
        `The arguments of ${what} ("${name}") are of type ${typeof written}, not a string. Send the JSON that the model wrote, or JSON.stringify of them.`,
      );
    checkText(id, `The id of ${what} ("${name}")`);
  }
}

/**
 * Returns the tools as JSON. All conversations that offer the same tools are stored under this string. Throws
 * EngineError `bad_request`.
 */
export function printTools(tools: unknown): string {
  if (!Array.isArray(tools))
    throw new EngineError('bad_request', `The tools of the request are of type ${typeof tools}, not a list.`);
  for (const [place, tool] of tools.entries()) {
    const { name }: { name?: unknown } = (tool as ToolSpec | null) ?? {};
    if (typeof name !== 'string' || name === '')
      throw new EngineError(
        'bad_request',
        `Tool ${place} of the request has the name ${JSON.stringify(name)}. A tool is { name, description, parameters }.`,
      );
  }
  try {
    return JSON.stringify(tools);
  } catch (error) {
    throw new EngineError(
      'bad_request',
      `The tools of the request cannot be written as JSON: ${toErrorMessage(error)}. Send each tool's parameters as a plain JSON Schema.`,
      { cause: error },
    );
  }
}
