import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { FileOrder } from './.ci/file-order.mjs';
import { workers } from './.ci/time-shares.mjs';
import { root, workspaces } from './.ci/workspaces.mjs';

/** Tests run on the sources: our packages resolve to src, without a build in between. */
const alias = workspaces().flatMap(({ doors }) =>
  Object.entries(doors).map(([door, source]) => ({
    find: new RegExp(`^${door}$`),
    replacement: path.join(root, source),
  })),
);

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: 'test/scratch-folder.ts',
    setupFiles: ['test/property-seed.ts', 'test/hub-settings.ts'],
    sequence: { sequencer: FileOrder },
    ...(process.env['AJET_PASSED_TESTS'] === undefined ? {} : { runner: '.ci/long-tests-runner.mjs' }),
    include: ['tutorial', 'examples', 'test', ...workspaces().map(({ dir }) => `${dir}/src`)].map(
      (folder) => `${folder}/**/*.test.ts`,
    ),
    // One process per worker instead of one per file: modules are imported once, which saves a fifth of what the tests cost. Therefore a file
    // leaves nothing that another one could see.
    isolate: false,
    // Long, for whole processes on a slow machine that is busy. They only end what hangs, so no test has a shorter one.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    maxWorkers: workers,
    passWithNoTests: true,
  },
});
