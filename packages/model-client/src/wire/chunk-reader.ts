import type { ChatDelta, ChatResponse, ToolCall } from '@agentjet/core';
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { toChatResponse, type Mistake } from './to-chat-response.js';

/**
 * Reads a streamed completion. It takes text as it arrives from the connection, emits deltas, and returns the whole
 * answer at the end. A tool call is emitted once all of its pieces are there.
 */
export class ChunkReader {
  readonly #onDelta: (delta: ChatDelta) => void;
  readonly #parser: EventSourceParser;
  readonly #toolCalls: { id: string; name: string; arguments: string }[] = [];
  #numEmittedCalls = 0;
  #content = '';
  #reasoning = '';
  #last: Readonly<Record<string, unknown>> = {};
  #finishReason: unknown;
  #usage: unknown;
  #error: unknown;
  #isDone = false;

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
    this.#parser = createParser({ onEvent: ({ data }) => this.#read(data) });
  }

  push(text: string): void {
    this.#parser.feed(text);
  }

  /** The body of an error that the server sent in the middle of the stream. */
  get error(): unknown {
    return this.#error;
  }

  /** Returns the whole answer, or a mistake if the stream did not reach its end. */
  finish(fallback: { readonly id: string; readonly model: string }): ChatResponse | Mistake {
    if (!this.#isDone) return { mistake: 'The stream broke off' };
    this.#emitCalls(this.#toolCalls.length);
    const message = {
      content: this.#content,
      reasoning_content: this.#reasoning,
      tool_calls: this.#toolCalls.map(({ id, ...call }) => ({ id, function: call })),
    };
    const choices = [{ message, finish_reason: this.#finishReason }];
    return toChatResponse({ ...this.#last, choices, usage: this.#usage }, fallback);
  }

  #read(data: string): void {
    if (data === '[DONE]') {
      this.#isDone = true;
      return;
    }
    const chunk = JSON.parse(data) as WireChunk;
    if (chunk.error !== undefined) {
      this.#error = chunk;
      return;
    }
    const { choices = [], usage, ...head } = chunk;
    this.#last = head;
    if (usage !== undefined && usage !== null) this.#usage = usage;
    const [choice] = choices;
    if (choice?.delta !== undefined) this.#take(choice.delta);
    if (typeof choice?.finish_reason === 'string') this.#finishReason = choice.finish_reason;
  }

  #take({ content, reasoning_content: reasoning, tool_calls: calls = [] }: WireDelta): void {
    if (typeof reasoning === 'string' && reasoning !== '') {
      this.#reasoning += reasoning;
      this.#onDelta({ type: 'reasoning', text: reasoning });
    }
    if (typeof content === 'string' && content !== '') {
      this.#content += content;
      this.#onDelta({ type: 'content', text: content });
    }
    for (const call of calls ?? []) {
      const index = call.index ?? this.#toolCalls.length;
      const known = (this.#toolCalls[index] ??= { id: '', name: '', arguments: '' });
      if (known.id === '') known.id = call.id ?? '';
      known.name += call.function?.name ?? '';
      known.arguments += call.function?.arguments ?? '';
      this.#emitCalls(index); // the calls before it are complete
    }
  }

  #emitCalls(end: number): void {
    for (; this.#numEmittedCalls < end; this.#numEmittedCalls++) {
      const toolCall: ToolCall | undefined = this.#toolCalls[this.#numEmittedCalls];
      if (toolCall !== undefined) this.#onDelta({ type: 'tool_call', index: this.#numEmittedCalls, toolCall });
    }
  }
}

type WireChunk = {
  readonly error?: unknown;
  readonly choices?: readonly { readonly delta?: WireDelta; readonly finish_reason?: unknown }[];
  readonly usage?: unknown;
};
type WireDelta = {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly tool_calls?:
    | readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[]
    | null;
};
