import type { AssistantMessage, JsonObject, ToolCall } from '@agentjet/core';
import type { GeneratedTurn } from './seen-state.js';
import { isSameArguments } from './same-arguments.js';
import { isSameMessage } from './same-message.js';

/**
 * Returns whether `sent` is this recorded turn in the spelling of a framework: whitespace trimmed, null as "",
 * arguments parsed and printed again, reasoning dropped or moved into the text, the text cut at a stop string, a name
 * added. `byId`: the calls have ids that we minted, so that changes made by a tool's schema can be recognised. A turn
 * with other text or arguments was edited, and the model must see what was sent.
 */
export function isRespelling(turn: GeneratedTurn, sent: AssistantMessage, byId: boolean): boolean {
  if (turn.spelling !== undefined && isSameMessage(turn.spelling, sent)) return true;
  if (isRawText(turn, sent)) return true;
  return isSameCalls(turn, sent.toolCalls ?? [], byId) && isSameText(turn, sent);
}

/** Returns whether the whole answer, including tags and calls, was sent back as plain text. */
function isRawText(turn: GeneratedTurn, sent: AssistantMessage): boolean {
  return (sent.toolCalls ?? []).length === 0 && sent.content !== '' && sent.content.trim() === turn.text.trim();
}

function isSameCalls(turn: GeneratedTurn, sent: readonly ToolCall[], byId: boolean): boolean {
  const own = turn.message.toolCalls ?? [];
  const isSame = (call: ToolCall, index: number): boolean => {
    const other = sent[index];
    return (
      other?.name === call.name &&
      (!byId || other.id === call.id) &&
      isSameArguments(call.arguments, other.arguments, byId ? schemaOf(turn, call.name) : undefined)
    );
  };
  return own.length === sent.length && own.every(isSame);
}

/** Returns the parameters of a tool that the turn was offered. The result is empty for any other tool. */
export function schemaOf({ node }: GeneratedTurn, name: string): JsonObject {
  return node.tools.find((tool) => tool.name === name)?.parameters ?? {};
}

function isSameText(turn: GeneratedTurn, sent: AssistantMessage): boolean {
  const { content, reasoning = '' } = turn.message;
  const text = sent.content.trim();
  if (isKeptReasoning(reasoning, sent.reasoning ?? '') && isSameContent(turn, text)) return true;
  return reasoning !== '' && squash(withoutReasoningTags(text, turn)) === squash(reasoning + content);
}

/** Returns whether reasoning was dropped, kept, or reduced to its last streamed piece. */
function isKeptReasoning(own: string, sent: string): boolean {
  return sent.trim() === '' || own.trim().endsWith(sent.trim());
}

function isSameContent({ message: { content }, stops }: GeneratedTurn, text: string): boolean {
  if (content.trim() === text) return true;
  return stops.some((stop) => content.includes(stop) && content.slice(0, content.lastIndexOf(stop)).trim() === text);
}

function withoutReasoningTags(text: string, { node }: GeneratedTurn): string {
  return (node.root.template.reasoningTags ?? []).reduce((rest, tag) => rest.replaceAll(tag, ''), text);
}

/** Removes all whitespace, to compare texts that were joined or split with other whitespace. */
export function squash(text: string): string {
  return text.replaceAll(/\s+/g, '');
}
