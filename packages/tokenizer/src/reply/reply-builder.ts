import type { ChatDelta } from '@agentjet/core';
import type { ParsedReply } from '../contract.js';
import type { WrittenCall } from './json-call.js';

/** Collects deltas and, from the same events, the final reply: so that both always agree. */
export type ReplyBuilder = {
  content(text: string): void;
  reasoning(text: string): void;
  call(call: WrittenCall): void;
  malformed(): void;
  readonly numCalls: number;
  /** Deltas since the last take. */
  take(): readonly ChatDelta[];
  build(): ParsedReply;
};

export function createReplyBuilder(mintId: (index: number) => string): ReplyBuilder {
  let deltas: ChatDelta[] = [];
  let content = '';
  let reasoning: string | undefined;
  let malformedToolCalls = 0;
  const toolCalls: WrittenCall[] = [];
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
    call(call) {
      const index = toolCalls.length;
      toolCalls.push(call);
      deltas.push({ type: 'tool_call', index, toolCall: { id: mintId(index), ...call } });
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
    build: () => ({ content, ...(reasoning === undefined ? {} : { reasoning }), toolCalls, malformedToolCalls }),
  };
}
