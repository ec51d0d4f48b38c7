import type { ChatDelta } from '@agentjet/core';
import type { ChatTokenizer } from '@agentjet/tokenizer';

/** Ids in, deltas out, each as soon as it is certain. The stop token has no text. */
export function createReplyStream({ tokenizer, template }: ChatTokenizer, mintId: (place: number) => string, onDelta: (delta: ChatDelta) => void): { push(id: number): void; flush(): void } {
  const decoder = tokenizer.createStreamDecoder();
  const parser = template.createStreamParser(mintId);
  const emit = (deltas: readonly ChatDelta[]): void => {
    for (const delta of deltas) onDelta(delta);
  };
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
