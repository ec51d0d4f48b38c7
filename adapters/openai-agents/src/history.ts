import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import { restoreTurn, groupByTurn, keptTurnKey } from '@agentjet/rollout';
import { type AgentInputItem, UserError } from '@openai/agents';

/**
 * Converts the items of a run's history to messages. Items of one turn of the model are adjacent. Items and parts of
 * other models that this one cannot read are left out, and `findUnshownItems` lists them.
 */
export function toMessages(items: readonly AgentInputItem[]): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let turn: TurnItem[] = [];
  const flush = (): void => {
    const turns = groupByTurn(turn, (item) => item.providerData?.[keptTurnKey]?.turn as unknown);
    messages.push(...turns.flatMap(splitMessages).map(toAssistantMessage));
    turn = [];
  };
  for (const item of items) {
    if (isTurnItem(item)) {
      turn.push(item);
    } else if (isMessageItem(item)) {
      flush();
      messages.push(toMessage(item));
    }
  }
  flush();
  return messages;
}

/** Returns the types of items, and of parts of other models' answers, that the model does not see, each once. */
export function findUnshownItems(items: readonly AgentInputItem[]): readonly string[] {
  const unshown = items.flatMap((item) => {
    if (isTurnItem(item))
      return 'role' in item
        ? partsOf(item)
            .filter((part) => textOf(part) === undefined)
            .map(({ type }) => type)
        : [];
    return isMessageItem(item) ? [] : [String(item.type)];
  });
  return [...new Set(unshown)];
}

/**
 * Separates answers of other models that follow one another. Text after text or calls begins a new answer, and so does
 * all thinking.
 */
function splitMessages(items: readonly TurnItem[]): readonly (readonly TurnItem[])[] {
  const messages: TurnItem[][] = [];
  for (const item of items) {
    const last = messages.at(-1);
    const isNew =
      item.type === 'reasoning' || ('role' in item && last?.some(({ type }) => type !== 'reasoning') === true);
    if (last === undefined || isNew) messages.push([item]);
    else last.push(item);
  }
  return messages;
}

type TurnItem = Extract<AgentInputItem, { type: 'function_call' } | { type: 'reasoning' } | { role: 'assistant' }>;

function isTurnItem(item: AgentInputItem): item is TurnItem {
  return item.type === 'function_call' || item.type === 'reasoning' || ('role' in item && item.role === 'assistant');
}

type MessageItem = Extract<AgentInputItem, { type: 'function_call_result' } | { role: 'user' | 'system' }>;

/** True for a message of a user, a tool or the system. Such a message was written for this model. */
function isMessageItem(item: AgentInputItem): item is MessageItem {
  return item.type === 'function_call_result' || ('role' in item && (item.role === 'user' || item.role === 'system'));
}

function toMessage(item: MessageItem): ChatMessage {
  if (item.type === 'function_call_result')
    return { role: 'tool', content: toResultText(item.output), toolCallId: item.callId, name: item.name };
  return { role: item.role, content: toText(item.content) };
}

function toAssistantMessage(items: readonly TurnItem[]): AssistantMessage {
  const content = items
    .flatMap((item) => ('role' in item ? partsOf(item).map((part) => textOf(part) ?? '') : []))
    .join('');
  const reasoning = items
    .map((item) =>
      item.type === 'reasoning' ? (item.rawContent ?? item.content ?? []).map(({ text }) => text).join('') : '',
    )
    .join('');
  const toolCalls = items.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.callId, name: item.name, arguments: item.arguments }] : [],
  );
  const kept = items
    .map((item) => item.providerData?.[keptTurnKey]?.message as unknown)
    .find((found) => found !== undefined);
  return (
    restoreTurn(kept, { content, reasoning, toolCalls }) ?? {
      role: 'assistant',
      content,
      ...(reasoning !== '' && { reasoning }),
      ...(toolCalls.length > 0 && { toolCalls }),
    }
  );
}

type Part = { readonly type: string; readonly text?: unknown; readonly refusal?: unknown };

/** Returns the parts of an answer. A string is one part. */
function partsOf({ content }: { readonly content: unknown }): readonly Part[] {
  if (typeof content === 'string') return [{ type: 'output_text', text: content }];
  if (content === undefined || content === null) return [];
  return Array.isArray(content) ? content.map(toPart) : refuseContent(content);
}

function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return refuseContent(content);
  return content
    .map(toPart)
    .map((part) => textOf(part) ?? refusePart(part))
    .join('');
}

function toResultText(output: unknown): string {
  return typeof output === 'object' && output !== null ? toText([output].flat()) : toText(output);
}

function toPart(part: unknown): Part {
  if (typeof part === 'string') return { type: 'output_text', text: part };
  return typeof part === 'object' && part !== null ? (part as Part) : refuseContent(part);
}

function textOf({ text, refusal }: Part): string | undefined {
  const shown = text ?? refusal;
  return typeof shown === 'string' ? shown : undefined;
}

function refusePart({ type }: Part): never {
  throw new UserError(`Content of type "${type}" cannot be shown to the model: it reads only text.`);
}

function refuseContent(content: unknown): never {
  throw new UserError(
    `The content of an item is ${JSON.stringify(content)?.slice(0, 200) ?? 'missing'}. Pass a string, or an array of parts such as { type: 'input_text', text }.`,
  );
}
