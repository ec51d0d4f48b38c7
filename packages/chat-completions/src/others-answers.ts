import { isJsonObject } from '@agentjet/core';
import type { Protocol } from '@agentjet/core/parameters';

/**
 * Reads answers in a conversation that may come from another model and have parts that this model cannot read. Such a
 * part never makes a call fail. Its text is shown. A part without text is left out and counted.
 */
export type AnswerPart = { readonly type: string; readonly [key: string]: unknown };

/** Returns the text in the parts of an answer. */
export function toAnswerText(given: string | readonly AnswerPart[] | null | undefined): string {
  if (given === null || given === undefined) return '';
  return typeof given === 'string' ? given : given.map((part) => textOf(part) ?? '').join('');
}

/** Returns the thinking in the parts of an answer. */
export function toAnswerReasoning(given: string | readonly AnswerPart[] | null | undefined): string {
  return typeof given === 'string' ? '' : (given ?? []).map((part) => thinkingOf(part) ?? '').join('');
}

/** Lists the parts of answers that the model does not see, as `<list>: <type>`, each once. */
export function findUnshown(protocol: Protocol, body: unknown): readonly string[] {
  const list = protocol === 'responses' ? 'input' : 'messages';
  const entries: unknown = isJsonObject(body) ? body[list] : undefined;
  if (!Array.isArray(entries)) return [];
  const types = entries.flatMap((entry: unknown) => (isJsonObject(entry) ? unshownTypes(entry) : []));
  return [...new Set(types)].map((type) => `${list}: ${type}`);
}

function unshownTypes(entry: Readonly<Record<string, unknown>>): readonly string[] {
  const { role, type, content } = entry;
  if (role === undefined && isOthersItem(type)) return [type];
  if (role !== 'assistant' || !Array.isArray(content)) return [];
  const parts: readonly unknown[] = content;
  return parts
    .filter(isPart)
    .filter(isUnshown)
    .map((part) => part.type);
}

function isPart(part: unknown): part is AnswerPart {
  return isJsonObject(part) && typeof part['type'] === 'string';
}

function isUnshown(part: AnswerPart): boolean {
  return part.type !== 'tool_use' && textOf(part) === undefined && thinkingOf(part) === undefined;
}

/**
 * Whether an item describes work of another provider's server: a search, code that it ran, a shortened conversation.
 */
export function isOthersItem(type: unknown): type is string {
  return (
    typeof type === 'string' && /_call$|_call_output$|^mcp_|^compaction|^image_generation/.test(type) && !own.has(type)
  );
}

const own = new Set(['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output']);

function textOf({ type, text, refusal }: AnswerPart): string | undefined {
  const shown = type === 'thinking' || type === 'reasoning' ? undefined : (text ?? refusal);
  return typeof shown === 'string' ? shown : undefined;
}

/** Returns the thinking in a part. In Mistral's form, `thinking` is a list of text parts. */
function thinkingOf({ type, thinking, text }: AnswerPart): string | undefined {
  if (type !== 'thinking' && type !== 'reasoning') return undefined;
  const given: unknown = thinking ?? text;
  if (typeof given === 'string') return given;
  return Array.isArray(given) ? toAnswerText(given.filter(isPart)) : undefined;
}
