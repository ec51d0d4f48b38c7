import { expect, it } from 'vitest';
import { shortenQuery } from './episode-line.js';

it('keeps the text of a task up to 4000 characters, and says how long a longer one is', () => {
  const long = 'x'.repeat(5000);
  expect(shortenQuery('x'.repeat(4000))).toHaveLength(4000);
  expect(shortenQuery(long)).toMatch(/^x+ \.\.\. \(5000 characters\)$/);
  expect(shortenQuery(shortenQuery(long))).toBe(shortenQuery(long));
});
