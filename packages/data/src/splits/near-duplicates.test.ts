import { createRandom } from '@agentjet/core';
import { expect, it } from 'vitest';
import { NearDuplicates, similarity, wordGrams } from './near-duplicates.js';

const words = 'ash birch cedar elm fir hazel ivy juniper larch maple oak pine rowan spruce willow yew'.split(' ');

/** Makes texts of twenty words. Half of them are earlier ones with some words changed. */
function makeTexts(count: number): readonly string[] {
  const random = createRandom(7);
  const draw = (): string => words[random.int(words.length)] ?? '';
  const texts: string[] = [];
  for (let at = 0; at < count; at++) {
    const earlier = at > 0 && random.next() < 0.5 ? texts[random.int(at)] : undefined;
    const changes = 1 + random.int(3);
    const parts = earlier?.split(' ') ?? Array.from({ length: 20 }, draw);
    for (let change = 0; change < changes; change++) parts[random.int(parts.length)] = draw();
    texts.push(parts.join(' '));
  }
  return texts;
}

it.each([0.5, 0.7, 0.9])('finds what comparing every pair finds, at a similarity of %s', (threshold) => {
  const texts = makeTexts(300);
  const near = new NearDuplicates(threshold, texts.length);
  const kept: number[] = [];
  const wrong: number[] = [];
  for (const [at, text] of texts.entries()) {
    const found = near.add(text);
    const similar = kept.filter((other) => similarity(wordGrams(text), wordGrams(texts[other] ?? '')) >= threshold);
    if (found !== undefined && !similar.includes(kept[found] ?? -1)) wrong.push(at);
    if ((found === undefined) !== (similar.length === 0)) wrong.push(at);
    if (found === undefined) kept.push(at);
  }
  expect(wrong).toEqual([]);
  expect(kept.length).toBeLessThan(texts.length);
});

it('tells short texts apart by all of their words', () => {
  const near = new NearDuplicates(0.8, 3);
  expect(['1 + 1?', '1 + 2?', '1 + 1 ?'].map((text) => near.add(text))).toEqual([undefined, undefined, 0]);
});
