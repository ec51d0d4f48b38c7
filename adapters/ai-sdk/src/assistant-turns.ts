import type { AssistantMessage, ChatResponse, ToolCall } from '@agentjet/core';
import { restoreTurn, groupByTurn } from '@agentjet/rollout';
import type { LanguageModelV3Message, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import { textOfPart } from './text-part.js';

/**
 * Restores the model's turns when the SDK sends the history back. Each part of an answer has the whole turn in its
 * provider metadata, which comes back as provider options. The parts of one turn are joined by its id, even if a
 * framework above the SDK has merged several turns into one message.
 */
type Part = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];
type ToolCallPart = Extract<Part, { type: 'tool-call' }>;

const key = 'agentjet';

export function toStash({ id, message }: ChatResponse): SharedV3ProviderMetadata {
  return { [key]: { turn: id, message: structuredClone(message) as unknown as Stashed } };
}

type Stashed = NonNullable<SharedV3ProviderMetadata[string]>;

export function toAssistantMessages(parts: readonly Part[]): readonly AssistantMessage[] {
  const turns = new Map(parts.map((part, at) => [part, turnOf(part) ?? turnAfterThinking(parts.slice(at))]));
  return groupByTurn(parts, (part) => turns.get(part)).map(toAssistantMessage);
}

function turnOf(part: Part | undefined): unknown {
  return part?.providerOptions?.[key]?.['turn'];
}

/**
 * Finds the turn of a thinking part in the next part. In a stream, thinking ends before its turn is known, so the
 * thinking part has no turn id.
 */
function turnAfterThinking(parts: readonly Part[]): unknown {
  return parts[0]?.type === 'reasoning' ? turnOf(parts.find(({ type }) => type !== 'reasoning')) : undefined;
}

/**
 * Lists the parts of other models' answers that the model does not see: files, calls that their provider ran, and the
 * results of these calls.
 */
export function findUnshownParts(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return [];
    if (part.type !== 'tool-call') return [part.type];
    return isProviders(part) ? ['tool-call of a provider'] : [];
  });
}

function isProviders({ providerExecuted }: ToolCallPart): boolean {
  return providerExecuted === true;
}

function toAssistantMessage(parts: readonly Part[]): AssistantMessage {
  const content = parts.map((part) => (part.type === 'text' ? textOfPart(part) : '')).join('');
  const reasoning = parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
  const calls = parts.filter((part) => part.type === 'tool-call').filter((part) => !isProviders(part));
  const kept = parts.map((part) => part.providerOptions?.[key]?.['message']).find((found) => found !== undefined);
  // The SDK may have changed the arguments, because it parses them with the tool's schema. The tracker has the schema,
  // so it can distinguish such a change from an edit.
  const shown = { content, reasoning, toolCalls: calls.map(toToolCall) };
  return (
    restoreTurn(kept, shown) ?? {
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
