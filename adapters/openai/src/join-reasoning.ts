import type { ChatDelta } from '@agentjet/core';

/** The SDK's stream helpers keep only the last delta of a field they do not know: they get the thinking in one. */
export function joinReasoning(write: (delta: ChatDelta) => void): { push(delta: ChatDelta): void; flush(): void } {
  let reasoning = '';
  const flush = (): void => {
    if (reasoning !== '') write({ type: 'reasoning', text: reasoning });
    reasoning = '';
  };
  return {
    push: (delta) => {
      if (delta.type === 'reasoning') {
        reasoning += delta.text;
        return;
      }
      flush();
      write(delta);
    },
    flush,
  };
}
