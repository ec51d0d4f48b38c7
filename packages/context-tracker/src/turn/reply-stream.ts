import type { ChatDelta } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';
import type { ReplyBeginning } from './read-reply.js';

type ReplyStreamOptions = ReplyBeginning & { readonly onDelta: (delta: ChatDelta) => void };

/** Converts ids to deltas, each as soon as it is certain. The stop token has no text. */
export function createReplyStream(
  { tokenizer, template }: ChatTokenizer,
  { opening, mintId, tools, onDelta }: ReplyStreamOptions,
): { push(id: number): void; flush(): void } {
  const decoder = tokenizer.createStreamDecoder();
  const parser = template.createStreamParser(mintId, { tools });
  const emit = (deltas: readonly ChatDelta[]): void => {
    for (const delta of deltas) onDelta(delta);
  };
  if (opening !== '') emit(parser.push(opening));
  return {
    push: (id) => {
      if (!template.stopIds.includes(id)) emit(parser.push(decoder.push(id)));
    },
    flush: () => {
      emit(parser.push(decoder.flush()));
      emit(parser.flush().deltas);
    },
  };
}
