import type { Share } from './time-budget.mjs';

export const workers: number;
export const budgets: { readonly test: number; readonly ci: number; readonly nightlyJob: number };
export const shares: readonly Share[];
