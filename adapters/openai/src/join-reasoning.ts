import type { ChatDelta } from '@agentjet/core';

/**
 * Joins the thinking into one delta, because the SDK's stream helpers keep only the last delta of a field that they do
 * not know.
 */
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
