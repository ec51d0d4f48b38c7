import { parseJsonObject, type ChatDelta, type ChatResponse, type ToolCall } from '@agentjet/core';
import { keptTurnKey } from '@agentjet/rollout';
import type { ChatModelStreamEvent, FinishReason } from '@langchain/core/language_models/event';
import type { ContentBlock } from '@langchain/core/messages';
import { toResponseMetadata, toUsageMetadata } from './tuned-message.js';

/**
 * Writes an answer as events of `streamEvents` v3. LangChain can convert chunks to events itself, but it gives text and
 * calls the same index, so one replaces the other. It also drops thinking and finish reasons.
 */
export async function* toStreamEvents(
  deltas: AsyncGenerator<ChatDelta, ChatResponse>,
): AsyncGenerator<ChatModelStreamEvent> {
  const writer = new EventWriter();
  try {
    yield { event: 'message-start' };
    let next = await deltas.next();
    for (; next.done !== true; next = await deltas.next()) yield* writer.toEvents(next.value);
    yield* writer.close();
    yield toFinish(next.value);
  } finally {
    await deltas.return(undefined as never);
  }
}

type Open = { readonly type: 'text' | 'reasoning'; readonly written: string };

class EventWriter {
  #index = 0;
  #open: Open | undefined;

  *toEvents(delta: ChatDelta): Generator<ChatModelStreamEvent> {
    if (delta.type === 'tool_call') {
      yield* this.close();
      yield* toCallEvents(delta.toolCall, this.#index++);
      return;
    }
    const type = delta.type === 'content' ? 'text' : 'reasoning';
    if (this.#open?.type !== type) {
      yield* this.close();
      this.#open = { type, written: '' };
      yield { event: 'content-block-start', index: this.#index, content: toBlock(this.#open) };
    }
    this.#open = { type, written: (this.#open?.written ?? '') + delta.text };
    yield {
      event: 'content-block-delta',
      index: this.#index,
      delta:
        type === 'text' ? { type: 'text-delta', text: delta.text } : { type: 'reasoning-delta', reasoning: delta.text },
    };
  }

  *close(): Generator<ChatModelStreamEvent> {
    if (this.#open === undefined) return;
    yield { event: 'content-block-finish', index: this.#index, content: toBlock(this.#open) };
    this.#open = undefined;
    this.#index++;
  }
}

function toBlock({ type, written }: Open): ContentBlock.Text | ContentBlock.Reasoning {
  return type === 'text' ? { type, text: written } : { type, reasoning: written };
}

function* toCallEvents({ id, name, arguments: args }: ToolCall, index: number): Generator<ChatModelStreamEvent> {
  const parsed = parseJsonObject(args);
  const error = 'The arguments are not a JSON object.';
  yield { event: 'content-block-start', index, content: { type: 'tool_call_chunk', id, name, args: '', index } };
  yield {
    event: 'content-block-delta',
    index,
    delta: { type: 'block-delta', fields: { type: 'tool_call_chunk', id, name, args } },
  };
  yield {
    event: 'content-block-finish',
    index,
    content:
      parsed === undefined
        ? { type: 'invalid_tool_call', id, name, args, error }
        : { type: 'tool_call', id, name, args: parsed },
  };
}

const reasons = { stop: 'stop', length: 'length', tool_calls: 'tool_use' } as const satisfies Record<
  ChatResponse['finishReason'],
  FinishReason
>;

/**
 * Creates the last event. Its metadata contains the kept turn, because LangChain builds the message from events without
 * `additional_kwargs`.
 */
function toFinish(response: ChatResponse): ChatModelStreamEvent {
  return {
    event: 'message-finish',
    reason: reasons[response.finishReason],
    usage: toUsageMetadata(response),
    responseMetadata: { ...toResponseMetadata(response), [keptTurnKey]: structuredClone(response.message) },
  };
}
