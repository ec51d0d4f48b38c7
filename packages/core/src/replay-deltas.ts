import type { ChatOptions, ChatResponse } from './chat.js';

/** A whole answer as one burst of deltas, for a caller who asked for a stream of what is there already. */
export function replayDeltas({ message }: ChatResponse, { onDelta }: ChatOptions): void {
  const { content, reasoning = '', toolCalls = [] } = message;
  if (reasoning !== '') onDelta?.({ type: 'reasoning', text: reasoning });
  if (content !== '') onDelta?.({ type: 'content', text: content });
  toolCalls.forEach((toolCall, index) => onDelta?.({ type: 'tool_call', index, toolCall }));
}
