import { expect, it } from 'vitest';
import { splitChunks } from './split-chunks.js';

it('cuts text between sentences, and a sentence only if it is too long', () => {
  const sentences = Array.from(
    { length: 40 },
    (_, at) => `This is sentence number ${at} of a page about lighthouses. `,
  );
  const chunks = splitChunks('a.md', sentences.join(''), 500);
  expect(chunks.map(({ text }) => text).join(' ')).toBe(sentences.join('').trim());
  expect(Math.max(...chunks.map(({ text }) => text.length))).toBeLessThanOrEqual(500);
  for (const { text } of chunks) expect(text).toMatch(/^This is.*lighthouses\.$/);
  const long = splitChunks('a.md', 'word '.repeat(400), 500);
  expect(long.length).toBe(4);
});
