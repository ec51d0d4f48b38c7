import type { ChatDelta } from '@agentjet/core';

/**
 * Passes deltas on once. A call that was cut off in the middle of its stream is sent again and answered from its beginning;
 * what the agent has seen already is not shown twice. What the agent throws is kept apart from errors of the connection.
 */
export class DeltaOutlet {
  readonly #onDelta: (delta: ChatDelta) => void;
  /** What the agent has got: its text of each kind, and its tool calls as JSON. */
  readonly #shown = { content: '', reasoning: '', calls: [] as string[] };
  #thrown: { readonly error: unknown } | undefined;

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** What the agent's function threw. */
  get thrown(): { readonly error: unknown } | undefined {
    return this.#thrown;
  }

  /** A listener for one try. It throws DivergedAnswer if the answer does not begin as that of an earlier try did. */
  nextTry(): (delta: ChatDelta) => void {
    const seen = { content: '', reasoning: '', calls: 0 };
    return (delta) => {
      if (delta.type === 'tool_call') this.#takeCall(delta, seen.calls++);
      else {
        seen[delta.type] += delta.text;
        this.#takeText(delta.type, seen[delta.type]);
      }
    };
  }

  #takeText(type: 'content' | 'reasoning', text: string): void {
    const shown = this.#shown[type];
    if (shown.startsWith(text)) return;
    if (!text.startsWith(shown)) throw new DivergedAnswer();
    this.#shown[type] = text;
    this.#emit({ type, text: text.slice(shown.length) });
  }

  #takeCall(delta: Extract<ChatDelta, { type: 'tool_call' }>, index: number): void {
    const json = JSON.stringify(delta.toolCall);
    const shown = this.#shown.calls[index];
    if (shown === json) return;
    if (shown !== undefined) throw new DivergedAnswer();
    this.#shown.calls.push(json);
    this.#emit(delta);
  }

  #emit(delta: ChatDelta): void {
    try {
      this.#onDelta(delta);
    } catch (error) {
      this.#thrown = { error };
      throw error;
    }
  }
}

/** The server answered a repeated call otherwise than before: the agent has seen words that no answer has. */
export class DivergedAnswer extends Error {}
