import { isJsonObject, type ChatMessage, type JsonObject } from '@agentjet/core';

/**
 * Reads the request and the answer of a framework's model as text for people. It supports the shapes that most
 * frameworks use, and depends on no particular framework. The result is not trained, so parts that cannot be read are
 * left out.
 */
export function readMessages(args: readonly unknown[]): readonly ChatMessage[] {
  const [request] = args;
  if (Array.isArray(request)) return request.flatMap(readMessage);
  if (!isJsonObject(request)) return typeof request === 'string' ? [{ role: 'user', content: request }] : [];
  const { messages, prompt, input, systemInstructions } = request;
  const list: unknown = messages ?? prompt ?? input;
  const system =
    typeof systemInstructions === 'string' ? [{ role: 'system', content: systemInstructions } as const] : [];
  const rest = Array.isArray(list)
    ? list.flatMap(readMessage)
    : typeof list === 'string'
      ? [{ role: 'user', content: list } as const]
      : [];
  return [...system, ...rest];
}

/** Reads an answer. Returns null for a stream and for an unknown shape. */
export function readAnswer(result: unknown): ChatMessage | null {
  if (!isJsonObject(result)) return null;
  const { message, content, output, choices, generations } = result;
  const [choice] = Array.isArray(choices) ? (choices as readonly unknown[]) : [];
  const [generation] = Array.isArray(generations) ? (generations as readonly unknown[]) : [];
  const said =
    message ?? messageOf(choice) ?? messageOf(generation) ?? (Array.isArray(output) ? { content: output } : undefined);
  const found = isJsonObject(said) ? said : content === undefined ? undefined : result;
  if (found === undefined) return null;
  return { role: 'assistant', content: textOf(found['content']) + callsOf(found) };
}

function messageOf(value: unknown): unknown {
  return isJsonObject(value) ? value['message'] : undefined;
}

const roles: Readonly<Record<string, 'system' | 'user' | 'assistant' | 'tool'>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  ai: 'assistant',
  tool: 'tool',
  function: 'tool',
  function_call: 'assistant',
  function_call_result: 'tool',
};

function readMessage(value: unknown): readonly ChatMessage[] {
  if (!isJsonObject(value)) return [];
  const { role, type, getType } = value as JsonObject & { readonly getType?: unknown };
  const said: unknown = role ?? (typeof getType === 'function' ? (getType as () => unknown).call(value) : type);
  const known = typeof said === 'string' ? roles[said] : undefined;
  if (known === undefined) return [];
  const content = textOf(value['content'] ?? value['output']) + callsOf(value);
  return known === 'tool' ? [{ role: 'tool', content, toolCallId: idOf(value) }] : [{ role: known, content }];
}

function idOf({ toolCallId, tool_call_id: snake, callId }: JsonObject): string {
  const id = [toolCallId, snake, callId].find((value) => typeof value === 'string');
  return typeof id === 'string' ? id : '';
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textOf).join('');
  if (!isJsonObject(content)) return '';
  const { text, value, content: inner, output } = content;
  if (typeof text === 'string') return text;
  if (typeof value === 'string') return value;
  if (isToolCall(content)) return callsOf({ toolCalls: [content] });
  return textOf(inner ?? output ?? '');
}

function isToolCall({ type }: JsonObject): boolean {
  return type === 'tool-call' || type === 'function_call';
}

/** Renders tool calls as text, such as `look_up({"name":"x"})`. The text is appended to the words of the message. */
function callsOf(message: JsonObject): string {
  const { toolCalls, tool_calls: snake } = message;
  const own: readonly unknown[] = isToolCall(message) ? [message] : [];
  const listed = [toolCalls, snake].find((value) => Array.isArray(value) && value.length > 0) as
    | readonly unknown[]
    | undefined;
  return [...own, ...(listed ?? [])].map((call) => (isJsonObject(call) ? callText(call) : '')).join('');
}

function callText(call: JsonObject): string {
  const inner: JsonObject = isJsonObject(call['function']) ? (call['function'] satisfies JsonObject) : call;
  const name = inner['name'] ?? call['toolName'];
  const args = inner['arguments'] ?? inner['args'] ?? inner['input'];
  return `\n${String(name)}(${typeof args === 'string' ? args : JSON.stringify(args ?? {})})`;
}
