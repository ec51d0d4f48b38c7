import { existsSync } from 'node:fs';

/** The folder that runs are written to by default, if it is here. */
export const usualRuns = (): string => (existsSync('saved_experiments') ? 'saved_experiments' : '.');
