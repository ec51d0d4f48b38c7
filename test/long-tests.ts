import { it } from 'vitest';

/** Declares a test that takes long. It runs in `.ci/run`. Elsewhere it runs only with AJET_LONG_TESTS=1. */
export const longIt = it.runIf(process.env['AJET_LONG_TESTS'] === '1');
