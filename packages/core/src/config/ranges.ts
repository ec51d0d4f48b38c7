import { z } from 'zod';

/** Schemas for numbers within a range. */

/** Accepts a whole number from 1 to `most`. */
export const count = (most: number) => z.int().min(1).max(most);
export const countOrZero = (most: number) => z.int().min(0).max(most);
export const positive = z.number().positive();
export const notNegative = z.number().min(0);
/** Accepts 0, which turns a setting off, or a number of at least `least`. Numbers in between are mistakes. */
export const offOrFrom = (least: number) =>
  z.number().refine((value) => value === 0 || value >= least, { message: `0 (off) or at least ${least}` });
export const offOrAbove = (bound: number) =>
  z.number().refine((value) => value === 0 || value > bound, { message: `0 (off) or more than ${bound}` });
/**
 * Accepts 0 or at least 0.01. Below 0.01, rounding decides which token is drawn, and a sampler and a trainer round
 * differently.
 */
export const temperature = z
  .number()
  .refine((value) => value === 0 || value >= 0.01, { message: '0 (the likeliest token) or at least 0.01' });
export const share = z.number().min(0).max(1);
export const seed = z.int().min(0).max(0xffffffff);
export const topK = z
  .int()
  .min(-1)
  .max(2 ** 31 - 1);
export const topP = z.number().gt(0).max(1);
export const text = z.string().min(1);

export const numSteps = 100_000_000;
export const numTokens = 100_000_000;
/** The maximum of a time limit, because timers of Node cannot wait longer than 2^31 milliseconds. */
export const mostSeconds = 2_000_000;
