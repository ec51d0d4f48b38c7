import type { Task } from '@agentjet/core';

/** What a task asks, without what people write in different ways: case and white space. Digits and signs are kept. */
export function normalizedText({ mainQuery, initMessages }: Pick<Task, 'mainQuery' | 'initMessages'>): string {
  return normalize([mainQuery, ...initMessages.map(({ content }) => content)].join('\n'));
}

function normalize(text: string): string {
  const composed = isAscii.test(text) ? text : text.normalize('NFKC');
  const lower = composed.toLowerCase();
  return (hasOtherSpace.test(lower) ? lower.replace(/\s+/g, ' ') : lower).trim();
}

/** NFKC leaves it as it is. A million rows are normalized, so what most texts do not need is left out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character
const isAscii = /^[\0-\x7f]*$/;
/** White space that is not a single blank. */
const hasOtherSpace = /[^\S ]|  /;

/** 64 bits, as two numbers of 32. */
export type Hash = { high: number; low: number };

/**
 * Puts a hash of the text into `into` (cyrb53 of bryc, public domain, with both of its lanes whole). Equal hashes are compared
 * by their texts before anything is concluded, so it only has to be fast and even.
 */
export function hashText(text: string, into: Hash): Hash {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  [into.high, into.low] = [high >>> 0, low >>> 0];
  return into;
}
