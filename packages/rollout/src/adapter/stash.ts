import { isSameJsonText, type AssistantMessage, type ToolCall } from '@agentjet/core';

/**
 * Frameworks re-spell the model's own turns: arguments parsed and printed again, reasoning dropped, blanks trimmed.
 * Most carry opaque data along with a message, though. An adapter stashes the turn there as the model wrote it (it is
 * plain JSON), and takes it back when the message returns, provided that what the framework shows still says the
 * same. A message that was edited on purpose no longer does, and counts as what it has become.
 */
export type ShownMessage = {
  readonly content: string;
  /** The thinking, "" if the framework has taken it out; undefined if it has no place for thinking. */
  readonly reasoning?: string | undefined;
  /** In any order. */
  readonly toolCalls: readonly ShownToolCall[];
};

export type ShownToolCall = {
  readonly id: string | undefined;
  readonly name: string;
  /** Parsed, or as text. */
  readonly arguments: unknown;
};

/** The entry in which a framework carries the stashed turn, such as in LangChain's `additional_kwargs`. */
export const stashKey = 'agentjet';

/**
 * The stashed turn; undefined if there is none, or if the shown message says something else. Its thinking is as it is shown: the
 * tracker puts it back, unless `context_tracker.history_policy` is `as_sent`.
 */
export function fromStash(stash: unknown, shown: ShownMessage): AssistantMessage | undefined {
  const message = parseStash(stash);
  if (message === undefined || message.content.trim() !== shown.content.trim()) {
    return undefined;
  }
  const { toolCalls = [] } = message;
  const shownById = new Map(shown.toolCalls.map((call) => [call.id, call]));
  const isSame =
    toolCalls.length === shownById.size && toolCalls.every((call) => isSameCall(call, shownById.get(call.id)));
  return isSame ? withShownReasoning(message, shown) : undefined;
}

function withShownReasoning(message: AssistantMessage, { reasoning: shown }: ShownMessage): AssistantMessage {
  const { reasoning = '', ...others } = message;
  if (shown === undefined || shown.trim() === reasoning.trim()) return message;
  return shown === '' ? others : { ...others, reasoning: shown };
}

function isSameCall(call: ToolCall, shown: ShownToolCall | undefined): boolean {
  if (shown === undefined || shown.name !== call.name) {
    return false;
  }
  const text = typeof shown.arguments === 'string' ? shown.arguments : JSON.stringify(shown.arguments ?? null);
  return isSameJsonText(text, call.arguments);
}

/** It went through somebody else's storage: checked, and reduced to the fields that are known. */
function parseStash(stash: unknown): AssistantMessage | undefined {
  const { content, reasoning, toolCalls } = (typeof stash === 'object' && stash !== null ? stash : {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof content !== 'string' || (toolCalls !== undefined && !isToolCalls(toolCalls))) {
    return undefined;
  }
  return {
    role: 'assistant',
    content,
    ...(typeof reasoning === 'string' && { reasoning }),
    ...(toolCalls !== undefined && { toolCalls }),
  };
}

function isToolCalls(value: unknown): value is readonly ToolCall[] {
  const isText = (call: Readonly<Record<string, unknown>>): boolean =>
    ['id', 'name', 'arguments'].every((field) => typeof call[field] === 'string');
  return (
    Array.isArray(value) &&
    value.every(
      (call: unknown) => typeof call === 'object' && call !== null && isText(call as Readonly<Record<string, unknown>>),
    )
  );
}
