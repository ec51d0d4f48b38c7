import type { ChatDelta, ChatResponse } from '@agentjet/core';
import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { toStash } from './assistant-turns.js';
import { toFinishReason, toLanguageModelUsage, toResultMetadata, toToolCalls } from './result-parts.js';

type Block = 'reasoning' | 'text';

/**
 * Writes deltas as the SDK's parts. Thinking, text and the input of tools are written as they arrive. The end of the
 * text and the calls themselves are written at the end of the turn, because their metadata contains the whole turn.
 */
export class PartWriter {
  readonly #open = new Set<Block>();

  toParts(delta: ChatDelta): readonly LanguageModelV3StreamPart[] {
    if (delta.type === 'reasoning') return this.#append('reasoning', delta.text);
    const closed = this.#close('reasoning');
    if (delta.type === 'content') return [...closed, ...this.#append('text', delta.text)];
    const { id, name, arguments: input } = delta.toolCall;
    return [
      ...closed,
      { type: 'tool-input-start', id, toolName: name },
      { type: 'tool-input-delta', id, delta: input },
      { type: 'tool-input-end', id },
    ];
  }

  toFinalParts(response: ChatResponse): readonly LanguageModelV3StreamPart[] {
    const providerMetadata = toStash(response);
    const ends = [...this.#close('reasoning'), ...this.#close('text')].map((part) => ({ ...part, providerMetadata }));
    return [
      ...ends,
      ...toToolCalls(response),
      {
        type: 'finish',
        usage: toLanguageModelUsage(response),
        finishReason: toFinishReason(response),
        providerMetadata: toResultMetadata(response),
      },
    ];
  }

  #append(block: Block, delta: string): readonly LanguageModelV3StreamPart[] {
    const start = this.#open.has(block) ? [] : [{ type: `${block}-start` as const, id: block }];
    this.#open.add(block);
    return [...start, { type: `${block}-delta`, id: block, delta }];
  }

  #close(block: Block): readonly LanguageModelV3StreamPart[] {
    return this.#open.delete(block) ? [{ type: `${block}-end`, id: block }] : [];
  }
}
