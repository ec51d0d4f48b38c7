import type { ChatMessage } from '@agentjet/core';

/**
 * Templates print tool-call arguments as they are, or through `tojson`, which would quote and re-spell them. So the
 * template sees a marker, and the model's own text takes the marker's place, its quotes included, after rendering.
 */
export type VerbatimArguments = {
  /** What the template sees in place of the argument text. */
  hide(text: string): string;
  /** Puts the argument texts back into the rendered prompt. */
  restore(rendered: string): string;
};

function createPrefix(messages: readonly ChatMessage[]): string {
  const isTaken = (prefix: string): boolean =>
    messages.some(
      (message) =>
        message.content.includes(prefix) ||
        (message.role === 'assistant' && (message.reasoning?.includes(prefix) ?? false)),
    );
  let prefix = 'tool-arguments-';
  while (isTaken(prefix)) prefix += '-';
  return prefix;
}

export function createVerbatimArguments(messages: readonly ChatMessage[]): VerbatimArguments {
  const prefix = createPrefix(messages);
  const texts: string[] = [];
  return {
    hide: (text) => `${prefix}${texts.push(text) - 1};`,
    restore(rendered) {
      if (texts.length === 0) return rendered;
      const marker = new RegExp(`"${prefix}(\\d+);"|${prefix}(\\d+);`, 'g');
      return rendered.replace(marker, (_, quoted?: string, plain?: string) => texts[Number(quoted ?? plain)] ?? '');
    },
  };
}
