import { expect, it } from 'vitest';
import { drawCurve } from './draw-curve.js';

it('a curve goes from its lowest to its highest value', () => {
  expect(drawCurve([0, 0.5, 1], 20)).toBe('▁▅█');
  expect(drawCurve([-2, -2, 8], 20)).toBe('▁▁█');
});

it('a long run is averaged to the width', () => {
  expect(drawCurve([0, 0, 1, 1, 2, 2, 3, 3], 4)).toBe('▁▃▆█');
  expect(
    drawCurve(
      Array.from({ length: 1000 }, (_, at) => at),
      24,
    ),
  ).toHaveLength(24);
});

it('equal values give a flat line, and one value gives none', () => {
  expect(drawCurve([0.5, 0.5], 20)).toBe('▁▁');
  expect(drawCurve([0.5], 20)).toBe('');
});
