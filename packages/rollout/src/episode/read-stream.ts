import type { ChatMessage } from '@agentjet/core';
import { readAnswer } from './read-call.js';

/**
 * Assembles a streamed answer from its pieces, as text for people. It supports the pieces of OpenAI's client and of the
 * frameworks that have an adapter.
 */

type Loose = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null;
const textIn = (...values: readonly unknown[]): string => {
  const found = values.find((value) => typeof value === 'string');
  return typeof found === 'string' ? found : '';
};

export class StreamedAnswer {
  #text = '';
  #numPieces = 0;
  readonly #calls = new Map<string, { name: string; arguments: string }>();
  /** The whole answer, if the stream itself sends one. */
  #whole: ChatMessage | undefined;

  add(piece: unknown): void {
    if (!isObject(piece)) return;
    this.#numPieces++;
    const { response } = piece;
    const isWhole = piece['type'] === 'response.completed' || piece['type'] === 'response_done';
    if (isWhole) this.#whole = readAnswer(response) ?? undefined;
    else this.#addDelta(piece);
  }

  /** Returns the answer so far, or null if nothing was streamed. */
  read(): ChatMessage | null {
    if (this.#whole !== undefined) return this.#whole;
    if (this.#numPieces === 0) return null;
    const calls = [...this.#calls.values()].map(({ name, arguments: args }) => `\n${name}(${args})`);
    return { role: 'assistant', content: this.#text + calls.join('') };
  }

  #addDelta(piece: Loose): void {
    const { type, choices, message, delta } = piece;
    const [choice] = Array.isArray(choices) ? (choices as readonly unknown[]) : [];
    if (isObject(choice)) this.#addMessage(isObject(choice['delta']) ? choice['delta'] : {});
    else if (isObject(message)) this.#addMessage(message);
    else if (typeof type === 'string') this.#addPart(type, piece);
    else if ('content' in piece) this.#addMessage(piece);
    else this.#text += textIn(delta);
  }

  /** Adds a piece with a type: from the AI SDK, Responses or OpenAI Agents. */
  #addPart(type: string, piece: Loose): void {
    if (type === 'text-delta' || type === 'output_text_delta' || type === 'response.output_text.delta')
      this.#text += textIn(piece['delta'], piece['textDelta'], piece['text']);
    if (type === 'tool-call')
      this.#addCall(this.#calls.size, {
        id: piece['toolCallId'],
        name: piece['toolName'],
        arguments: piece['input'] ?? piece['args'],
      });
  }

  #addMessage(message: Loose): void {
    const { content } = message;
    if (typeof content === 'string') this.#text += content;
    else if (Array.isArray(content))
      for (const part of content as readonly unknown[]) if (isObject(part)) this.#text += textIn(part['text']);
    const chunks = message['tool_call_chunks'] ?? message['tool_calls'];
    if (!Array.isArray(chunks)) return;
    for (const [at, chunk] of (chunks as readonly unknown[]).entries()) {
      if (!isObject(chunk)) continue;
      const inner = isObject(chunk['function']) ? chunk['function'] : chunk;
      this.#addCall(chunk['index'] ?? at, { name: inner['name'], arguments: inner['arguments'] ?? inner['args'] });
    }
  }

  #addCall(
    index: unknown,
    piece: { readonly id?: unknown; readonly name: unknown; readonly arguments: unknown },
  ): void {
    const key = textIn(piece.id, String(index));
    const call = this.#calls.get(key) ?? { name: '', arguments: '' };
    call.name += textIn(piece.name);
    call.arguments +=
      typeof piece.arguments === 'object' && piece.arguments !== null
        ? JSON.stringify(piece.arguments)
        : textIn(piece.arguments);
    this.#calls.set(key, call);
  }
}
