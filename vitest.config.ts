import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { FileOrder } from './.ci/file-order.mjs';
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
    setupFiles: 'test/property-seed.ts',
    sequence: { sequencer: FileOrder },
    projects: [
      {
        extends: true,
        test: {
          name: 'whole',
          maxWorkers: 0, // as the root has it, which `--maxWorkers` changes
          include: ['training/**/*.test.ts', 'tutorial/**/*.test.ts', 'test/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'packages',
          maxWorkers: 0,
          include: workspaces().map(({ dir }) => `${dir}/src/**/*.test.ts`),
          // One process per worker instead of one per file: modules are imported once, which halves what these tests cost.
          isolate: false,
        },
      },
    ],
    // Long, for whole processes on a machine that may be busy; they only end what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    passWithNoTests: true,
  },
});
