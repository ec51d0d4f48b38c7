import { expect, it } from 'vitest';
import { benchEdits, countEdits } from './bench.js';
import { drivers } from './drivers.js';
import { editKinds } from './edit-kinds.js';

it('shows the model every edit of its turn, as a fork', async () => {
  const outcomes = await benchEdits();
  expect(outcomes.filter(({ isShown, isForked }) => !isShown || !isForked)).toEqual([]);
  const edits = drivers.length * editKinds.length;
  expect(countEdits(outcomes)).toEqual({ edits, shown_to_the_model: edits, forked: edits });
});
