import type { AssistantMessage, ChatMessage, ChatResponse, ToolCall, ToolMessage } from '@agentjet/core';
import { fromStash } from '@agentjet/rollout';
import type { LanguageModelV3Message, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import { toText } from './text-part.js';

/**
 * The model's turns on their way through the SDK and back. Each part of an answer carries the whole turn in its
 * provider metadata, which comes back as provider options. Parts of one turn are put together again by its id, also where
 * a framework above the SDK has merged several turns into one message.
 */
type Part = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];
type ToolCallPart = Extract<Part, { type: 'tool-call' }>;

const key = 'agentjet';

export function toStash({ id, message }: ChatResponse): SharedV3ProviderMetadata {
  return { [key]: { turn: id, message: structuredClone(message) as unknown as Stashed } };
}

type Stashed = NonNullable<SharedV3ProviderMetadata[string]>;

export function toAssistantMessages(parts: readonly Part[]): readonly AssistantMessage[] {
  return groupByTurn(parts).map(toAssistantMessage);
}

/** A part without a turn of its own belongs to the one before it, or else to the next. */
function groupByTurn(parts: readonly Part[]): readonly (readonly Part[])[] {
  const groups: { turn: unknown; parts: Part[] }[] = [];
  for (const part of parts) {
    const turn = part.providerOptions?.[key]?.['turn'];
    const last = groups.at(-1);
    if (last === undefined || (turn !== undefined && last.turn !== undefined && turn !== last.turn)) {
      groups.push({ turn, parts: [part] });
    } else {
      last.parts.push(part);
      last.turn ??= turn;
    }
  }
  return groups.map((group) => group.parts);
}

function toAssistantMessage(parts: readonly Part[]): AssistantMessage {
  const content = parts.map((part) => (part.type === 'text' || part.type === 'file' ? toText(part) : '')).join('');
  const reasoning = parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
  const calls = parts.filter((part) => part.type === 'tool-call');
  const stash = parts.map((part) => part.providerOptions?.[key]?.['message']).find((found) => found !== undefined);
  // The SDK replaces arguments by what the tool's schema made of them, so a difference there says nothing.
  const shown = { content, toolCalls: calls.map(({ toolCallId, toolName }) => ({ id: toolCallId, name: toolName })) };
  return (
    fromStash(stash, shown) ?? {
      role: 'assistant',
      content,
      ...(reasoning !== '' && { reasoning }),
      ...(calls.length > 0 && { toolCalls: calls.map(toToolCall) }),
    }
  );
}

function toToolCall({ toolCallId, toolName, input }: ToolCallPart): ToolCall {
  return { id: toolCallId, name: toolName, arguments: typeof input === 'string' ? input : JSON.stringify(input) };
}

/** Where turns were merged, their tool results stand behind the last: puts each behind its own turn. */
export function takeApart(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const ordered: ChatMessage[] = [];
  for (let at = 0; at < messages.length; ) {
    const turns = takeWhile(messages, at, (message) => message.role === 'assistant');
    const results = takeWhile(messages, at + turns.length, (message) => message.role === 'tool');
    if (turns.length === 0) {
      ordered.push(...messages.slice(at, at + 1));
      at += 1;
    } else {
      ordered.push(...interleave(turns, results));
      at += turns.length + results.length;
    }
  }
  return ordered;
}

function interleave(turns: readonly AssistantMessage[], results: readonly ToolMessage[]): readonly ChatMessage[] {
  const isOf = (turn: AssistantMessage | undefined, { toolCallId }: ToolMessage): boolean => turn?.toolCalls?.some(({ id }) => id === toolCallId) ?? false;
  const early = turns.slice(0, -1);
  const late = results.filter((result) => !early.some((turn) => isOf(turn, result)));
  return [...early.flatMap((turn) => [turn, ...results.filter((result) => isOf(turn, result))]), ...turns.slice(-1), ...late];
}

function takeWhile<M extends ChatMessage>(messages: readonly ChatMessage[], from: number, isWanted: (message: ChatMessage) => message is M): readonly M[] {
  const taken: M[] = [];
  for (const message of messages.slice(from)) {
    if (!isWanted(message)) break;
    taken.push(message);
  }
  return taken;
}
