import { expect, it } from 'vitest';
import { joinValues, wallTimeOf } from './bench.js';

const decode = { open_s: 1.2, decode_vs_torch: { 1: 6, 8: 4, 32: 3 } };
const full = { train_vs_torch: { full: null } };
const lora = { train_vs_torch: { lora: 1.2 } };
const peaks = { peak_gb: { sampling: 1, lora: 2, full: null } };

it('joins parts of a shape to what one run of the shape gives', () => {
  expect(joinValues('0.5B', [peaks, lora, decode, full])).toEqual({
    ...decode,
    train_vs_torch: { full: null, lora: 1.2 },
    ...peaks,
  });
  expect(() => joinValues('0.5B', [decode, full, decode])).toThrow('Two files have the figure open_s of one shape.');
  expect(() => joinValues('0.5B', [full, lora, full])).toThrow('Two files have the figure full of one shape.');
});

it('keeps no part of a shape alone, which would replace the other parts', () => {
  expect(() => wallTimeOf(['--only', '30M:decode'])).toThrow('30M:decode is a part of a shape. Add --out <folder>');
  expect(wallTimeOf(['--only', '30M:decode', '--out', 'parts'])).toBe('all cores');
});

it('measures memory and differences on a busy machine too', () => {
  expect(wallTimeOf(['--only', '30M:peaks,int8', '--out', 'parts'])).toBeUndefined();
  expect(wallTimeOf(['--only', '30M,int8'])).toBe('all cores');
  expect(wallTimeOf([])).toBe('all cores');
});
