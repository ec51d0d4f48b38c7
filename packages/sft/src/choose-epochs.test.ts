import { expect, it } from 'vitest';
import type { CommonConfig } from '@agentjet/core';
import { chooseEpochs, countEpochs } from './choose-epochs.js';

const losses = (...values: readonly number[]) => values.map((loss, at) => ({ step: at * 4, held_out_loss: loss }));

it('the run is over after two passes in a row without a lower loss, and the lowest one is the best', () => {
  expect(chooseEpochs(losses(2, 1.5, 1.2, 1.3))).toEqual({ bestStep: 8, isOver: false });
  expect(chooseEpochs(losses(2, 1.5, 1.2, 1.3, 1.25))).toEqual({ bestStep: 8, isOver: true });
  expect(chooseEpochs(losses(2, 1.5, 1.2, 1.3, 1.1))).toEqual({ bestStep: 16, isOver: false });
  expect(chooseEpochs([])).toEqual({ bestStep: 0, isOver: false });
});

it('a number of passes is taken as it is, and auto needs held-out examples to choose', () => {
  const sft = (epochs: number | 'auto') => ({ epochs }) as CommonConfig['sft'];
  expect([countEpochs(sft(3), 9), countEpochs(sft('auto'), 9), countEpochs(sft('auto'), 0)]).toEqual([3, 20, 5]);
});
