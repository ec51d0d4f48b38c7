import { expect, it } from 'vitest';
import { RecoveryBudget } from './recovery-budget.js';

it('is spent by steps, and begins anew with a checkpoint', () => {
  const budget = new RecoveryBudget(120);
  budget.noteStep(100);
  expect(budget.isDue).toBe(false);
  budget.noteStep(30);
  expect(budget.isDue).toBe(true);
  budget.noteSaved(1);
  expect(budget.isDue).toBe(false);
});

it('lets steps continue if a checkpoint takes long', () => {
  const budget = new RecoveryBudget(120);
  budget.noteSaved(60);
  budget.noteStep(500);
  expect(budget.isDue).toBe(false);
  budget.noteStep(101);
  expect(budget.isDue).toBe(true);
});
