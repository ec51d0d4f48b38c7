import { EngineError, type ChatDelta } from '@agentjet/core';

/**
 * Passes each delta on once. If a call breaks off in the middle of its stream, it is sent again and answered from its
 * beginning. The text that the agent has already seen is not shown again.
 */
export class DeltaOutlet {
  readonly #onDelta: (delta: ChatDelta) => void;
  /** The deltas that the agent has seen: the text of each kind, and the tool calls as JSON. */
  readonly #shown = { content: '', reasoning: '', calls: [] as string[] };

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
  }

  /**
   * Returns a listener for one try. It throws StreamStop if the answer begins differently from the answer of an earlier
   * try, or if `onDelta` throws.
   */
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
    if (!text.startsWith(shown)) throw diverged();
    this.#shown[type] = text;
    this.#emit({ type, text: text.slice(shown.length) });
  }

  #takeCall(delta: Extract<ChatDelta, { type: 'tool_call' }>, index: number): void {
    const json = JSON.stringify(delta.toolCall);
    const shown = this.#shown.calls[index];
    if (shown === json) return;
    if (shown !== undefined) throw diverged();
    this.#shown.calls.push(json);
    this.#emit(delta);
  }

  #emit(delta: ChatDelta): void {
    try {
      this.#onDelta(delta);
    } catch (error) {
      throw new StreamStop(error);
    }
  }
}

/** Stops a stream for which another try would not help. The caller gets `reason`. */
export class StreamStop extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The stream was stopped.');
    this.reason = reason;
  }
}

/** Creates the error for a repeated call whose answer differs from what the agent has already seen. */
function diverged(): StreamStop {
  return new StreamStop(
    new EngineError(
      'failed',
      'The connection broke in the middle of an answer, and the repeated call got a different answer.',
    ),
  );
}
