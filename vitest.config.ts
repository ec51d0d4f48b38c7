import path from 'node:path';
import { defineConfig } from 'vitest/config';
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
    include: [
      ...workspaces().map(({ dir }) => `${dir}/src/**/*.test.ts`),
      'training/**/*.test.ts',
      'tutorial/**/*.test.ts',
      'test/**/*.test.ts',
    ],
    // Long, for whole processes on a machine that may be busy; they only end what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 2,
    passWithNoTests: true,
  },
});
