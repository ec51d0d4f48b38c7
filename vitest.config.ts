import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;

function workspaceDirs(): string[] {
  const under = (folder: string) => readdirSync(path.join(root, folder)).map((name) => path.join(root, folder, name));
  return [...under('packages'), ...under('adapters'), path.join(root, 'trainer')].filter((dir) =>
    existsSync(path.join(dir, 'package.json')),
  );
}

/** Tests run on the sources: our packages resolve to src, without a build in between. */
const alias = workspaceDirs().flatMap((dir) => {
  const { name } = JSON.parse(readFileSync(path.join(dir, 'package.json'), 'utf8')) as { name: string };
  return [
    { find: new RegExp(`^${name}$`), replacement: path.join(dir, 'src/index.ts') },
    { find: new RegExp(`^${name}/testing$`), replacement: path.join(dir, 'src/testing.ts') },
  ];
});

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: 'test/scratch-folder.ts',
    setupFiles: 'test/property-seed.ts',
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/nano/training/**/*.test.ts',
      'adapters/*/src/**/*.test.ts',
      'trainer/src/**/*.test.ts',
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
