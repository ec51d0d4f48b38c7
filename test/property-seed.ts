import fc from 'fast-check';

/**
 * Property tests draw the same cases each time, so that a change fails for what it changed. Other cases:
 * `PROPERTY_SEED=7 npx vitest run packages/context-tracker`, with as many seeds as there is time for.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 42) });
