import fc from 'fast-check';

/**
 * Property tests draw the same cases each time, so that a new failure comes from the change and not from other cases.
 * `PROPERTY_SEED=7 npx vitest run packages/context-tracker` draws other cases.
 */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 42) });
