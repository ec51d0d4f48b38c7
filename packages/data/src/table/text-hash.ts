import type { Task } from '@agentjet/core';

/** Returns the question of a task without case and white space, which people write differently. Digits and signs are kept. */
export function normalizedText({ mainQuery, initMessages }: Pick<Task, 'mainQuery' | 'initMessages'>): string {
  return normalize([mainQuery, ...initMessages.map(({ content }) => content)].join('\n'));
}

function normalize(text: string): string {
  const composed = isAscii.test(text) ? text : text.normalize('NFKC');
  const lower = composed.toLowerCase();
  return (hasOtherSpace.test(lower) ? lower.replace(/\s+/g, ' ') : lower).trim();
}

/** NFKC does not change such text. A million rows are normalized, so steps that most texts do not need are skipped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: every ASCII character
const isAscii = /^[\0-\x7f]*$/;
/** White space other than a single blank. */
const hasOtherSpace = /[^\S ]|  /;

/** 64 bits, as two 32-bit numbers. */
export type Hash = { high: number; low: number };

/**
 * Writes a hash of the text into `into` (cyrb53 of bryc, public domain, with both of its lanes whole). Equal hashes are confirmed by
 * comparing texts, so it only needs to be fast and uniform.
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
