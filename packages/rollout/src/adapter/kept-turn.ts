import { isSameJsonText, type AssistantMessage, type ToolCall } from '@agentjet/core';

/**
 * Frameworks rewrite the model's own turns: they parse and reprint arguments, drop reasoning and trim blanks. But most
 * of them keep opaque data together with a message. An adapter stores the turn in that data, as plain JSON and as the
 * model wrote it. When the message returns, the adapter uses the stored turn if the framework's version has the same
 * content. If the message was edited on purpose, the edited version is used.
 */
export type ShownMessage = {
  readonly content: string;
  /** The thinking. It is "" if the framework removed it, and undefined if the framework has no field for it. */
  readonly reasoning?: string | undefined;
  /** The order does not matter. */
  readonly toolCalls: readonly ShownToolCall[];
};

export type ShownToolCall = {
  readonly id: string | undefined;
  readonly name: string;
  /** The parsed value, or its JSON string. */
  readonly arguments: unknown;
};

/** The name of the entry that contains the kept turn, such as in LangChain's `additional_kwargs`. */
export const keptTurnKey = 'agentjet';

/**
 * Returns the kept turn, or undefined if there is none or if the shown message has other content. The returned turn has
 * the thinking of the shown message. The tracker restores the original thinking, unless
 * `context_tracker.history_policy` is `as_sent`.
 */
export function restoreTurn(kept: unknown, shown: ShownMessage): AssistantMessage | undefined {
  const message = parseKeptTurn(kept);
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

/** Checks the stored turn and keeps only known fields, because it comes from outside of our code. */
function parseKeptTurn(kept: unknown): AssistantMessage | undefined {
  const { content, reasoning, toolCalls } = (typeof kept === 'object' && kept !== null ? kept : {}) as Readonly<
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
