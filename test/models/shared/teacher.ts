import type { Random } from '@agentjet/core';

/**
 * Writes the transcripts that a tiny model is made from. A teacher sees the prompt as text and answers in the right
 * form, but with poor judgement, so that the model can still improve by reinforcement learning.
 */
export type Teacher = (prompt: string, random: Random) => string;

/** Returns the text of the last message before the answer. */
export function lastMessage(prompt: string): string {
  const [, text = ''] =
    /<\|im_start\|>\w+\n((?:(?!<\|im_start\|>)[\s\S])*)<\|im_end\|>\n<\|im_start\|>assistant\n$/.exec(prompt) ?? [];
  return text;
}

export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}
