import { expect, it } from 'vitest';
import { formatCount, formatSeconds } from './quantities.js';

it('numbers read like a person writes them', () => {
  expect([0, 950, 12_345, 4_500_000].map(formatCount)).toEqual(['0', '950', '12.3k', '4.5M']);
  expect([0.26, 42.4, 190, 7500].map(formatSeconds)).toEqual(['0.3 s', '42 s', '3 min 10 s', '2 h 5 min']);
});
