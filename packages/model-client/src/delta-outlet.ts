import { EngineError, type ChatDelta } from '@agentjet/core';

/**
 * Passes deltas on once. A call that was cut off in the middle of its stream is sent again and answered from its beginning;
 * what the agent has seen already is not shown twice.
 */
export class DeltaOutlet {
  readonly #onDelta: (delta: ChatDelta) => void;
  /** What the agent has got: its text of each kind, and its tool calls as JSON. */
  readonly #shown = { content: '', reasoning: '', calls: [] as string[] };

  constructor(onDelta: (delta: ChatDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** A listener for one try. It throws StreamStop if the answer does not begin as that of an earlier try did, and for what the agent throws. */
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

/** A stream that must not go on: no other try would help. `reason` is what the caller gets. */
export class StreamStop extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super('The stream was stopped.');
    this.reason = reason;
  }
}

/** The agent has seen words that no answer has. */
function diverged(): StreamStop {
  return new StreamStop(
    new EngineError(
      'failed',
      'The connection broke in the middle of an answer, and the repeated call was answered otherwise.',
    ),
  );
}
