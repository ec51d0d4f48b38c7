import { expect, it } from 'vitest';
import { RedoGap } from './redo-gap.js';

it('reports the gap of the last step before a redo once, with the first step after it', () => {
  const gap = new RedoGap();
  gap.noteLoad([{ logprob_gap_max: 0.5 }, { logprob_gap_max: 0.02 }]);
  expect([true, true, false, false].map((isRedo) => gap.noteStep(isRedo))).toEqual([
    {},
    {},
    { logprob_gap_before_redo: 0.02 },
    {},
  ]);
});

it('reports nothing if no step was made again, or no gap is known', () => {
  const gap = new RedoGap();
  gap.noteLoad([{ logprob_gap_max: 0.5 }]);
  expect(gap.noteStep(false)).toEqual({});
  gap.noteLoad([]);
  expect([true, false].map((isRedo) => gap.noteStep(isRedo))).toEqual([{}, {}]);
});
