import type { AssistantMessage, ChatMessage } from '@agentjet/core';
import { fromStash, groupByTurn } from '@agentjet/rollout';
import { type AgentInputItem, UserError } from '@openai/agents';
import { stashKey } from './output-items.js';

/** Items of a run's history as messages. Items that belong to one turn of the model stand side by side. */
export function toMessages(items: readonly AgentInputItem[]): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  let turn: TurnItem[] = [];
  const flush = (): void => {
    if (turn.length > 0)
      messages.push(
        ...groupByTurn(turn, (item) => item.providerData?.[stashKey]?.turn as unknown).map(toAssistantMessage),
      );
    turn = [];
  };
  for (const item of items) {
    if (isTurnItem(item)) {
      turn.push(item);
    } else {
      flush();
      messages.push(toMessage(item));
    }
  }
  flush();
  return messages;
}

type TurnItem = Extract<AgentInputItem, { type: 'function_call' } | { type: 'reasoning' } | { role: 'assistant' }>;

function isTurnItem(item: AgentInputItem): item is TurnItem {
  return item.type === 'function_call' || item.type === 'reasoning' || ('role' in item && item.role === 'assistant');
}

function toMessage(item: Exclude<AgentInputItem, TurnItem>): ChatMessage {
  if (item.type === 'function_call_result')
    return { role: 'tool', content: toResultText(item.output), toolCallId: item.callId, name: item.name };
  if ('role' in item && (item.role === 'user' || item.role === 'system'))
    return { role: item.role, content: toText(item.content) };
  throw new UserError(`An item of type "${item.type}" cannot be shown to the model. Use messages and function calls.`);
}

function toAssistantMessage(items: readonly TurnItem[]): AssistantMessage {
  const content = items.map((item) => ('role' in item ? toText(item.content) : '')).join('');
  const reasoning = items
    .map((item) =>
      item.type === 'reasoning' ? (item.rawContent ?? item.content).map(({ text }) => text).join('') : '',
    )
    .join('');
  const toolCalls = items.flatMap((item) =>
    item.type === 'function_call' ? [{ id: item.callId, name: item.name, arguments: item.arguments }] : [],
  );
  const stash = items
    .map((item) => item.providerData?.[stashKey]?.message as unknown)
    .find((found) => found !== undefined);
  return (
    fromStash(stash, { content, reasoning, toolCalls }) ?? {
      role: 'assistant',
      content,
      ...(reasoning !== '' && { reasoning }),
      ...(toolCalls.length > 0 && { toolCalls }),
    }
  );
}

type Part = { readonly type: string; readonly text?: unknown; readonly refusal?: unknown };

function toText(content: string | readonly Part[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => partText(part)).join('');
}

function toResultText(output: string | Part | readonly Part[]): string {
  return typeof output === 'string' ? output : toText([output].flat());
}

function partText({ type, text, refusal }: Part): string {
  const shown = text ?? refusal;
  if (typeof shown === 'string') return shown;
  throw new UserError(`Content of type "${type}" cannot be shown to the model: it reads text only.`);
}
