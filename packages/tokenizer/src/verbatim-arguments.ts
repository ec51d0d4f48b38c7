import type { ChatMessage } from '@agentjet/core';

/**
 * Keeps tool-call arguments as the model wrote them. Templates print them unchanged, or through `tojson`, which would
 * quote them and change their spelling. So the template gets a marker. After rendering, the model's text replaces the
 * marker and its quotes.
 */
export type VerbatimArguments = {
  /** Returns the marker that the template gets instead of the arguments. */
  hide(text: string): string;
  /** Puts the arguments back into the rendered prompt. */
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
