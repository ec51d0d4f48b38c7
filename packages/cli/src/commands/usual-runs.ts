import { existsSync } from 'node:fs';

/** Returns the default folder of runs if it exists here. */
export const usualRuns = (): string => (existsSync('saved_experiments') ? 'saved_experiments' : '.');
