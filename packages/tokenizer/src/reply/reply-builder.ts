import type { ChatDelta } from '@agentjet/core';
import type { ParsedReply } from '../contract.js';
import type { WrittenCall } from './json-call.js';

/** Collects deltas and the final reply from the same events, so that both always agree. */
export type ReplyBuilder = {
  content(text: string): void;
  reasoning(text: string): void;
  call(call: WrittenCall): void;
  /** Adds the calls of an answer that consists only of calls without tags. `text` is the whole answer. */
  untagged(text: string, calls: readonly WrittenCall[]): void;
  malformed(): void;
  readonly numCalls: number;
  /** Returns the deltas since the previous `take`. */
  take(): readonly ChatDelta[];
  build(): ParsedReply;
};

export function createReplyBuilder(mintId: (index: number) => string): ReplyBuilder {
  let deltas: ChatDelta[] = [];
  let content = '';
  let reasoning: string | undefined;
  let malformedToolCalls = 0;
  let written: string | undefined;
  const toolCalls: WrittenCall[] = [];
  const addCall = (call: WrittenCall): void => {
    const index = toolCalls.length;
    toolCalls.push(call);
    deltas.push({ type: 'tool_call', index, toolCall: { id: mintId(index), ...call } });
  };
  return {
    content(text) {
      if (text === '') return;
      content += text;
      deltas.push({ type: 'content', text });
    },
    reasoning(text) {
      if (text === '') return;
      reasoning = (reasoning ?? '') + text;
      deltas.push({ type: 'reasoning', text });
    },
    call: addCall,
    untagged(text, calls) {
      written = text;
      for (const call of calls) addCall(call);
    },
    malformed() {
      malformedToolCalls++;
    },
    get numCalls() {
      return toolCalls.length;
    },
    take() {
      const taken = deltas;
      deltas = [];
      return taken;
    },
    build: () => ({
      content,
      ...(reasoning !== undefined && { reasoning }),
      toolCalls,
      malformedToolCalls,
      ...(written !== undefined && { written }),
    }),
  };
}
