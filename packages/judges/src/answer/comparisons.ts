/** How two answers can be compared. */
export const comparisons = ['text', 'number', 'choice', 'expression', 'set'] as const;
export type Comparison = (typeof comparisons)[number];
