import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { probeImport } from './probe-import.js';

const root = path.resolve(import.meta.dirname, '../../..');

/** The test runs on the sources, so it needs no build. */
function probeSource(file: string) {
  const env = { ...process.env, TSX_TSCONFIG_PATH: path.join(root, 'tsconfig.check.json'), NODE_OPTIONS: '' };
  return probeImport(pathToFileURL(path.join(root, file)).href, { cwd: root, nodeArgs: ['--import', 'tsx'], env });
}

it('importing agentjet loads no native library, no trainer, no server and no maker of tasks', () => {
  const { files, native } = probeSource('packages/agentjet/src/index.ts');
  const inRepository = files.map((file) => path.relative(root, file).replaceAll('\\', '/'));
  expect(inRepository).toContain('packages/agentjet/src/job.ts');
  expect(native).toEqual([]);
  expect(
    inRepository.filter((file) =>
      /^packages\/(endpoint|context-tracker|generation|traces)\/|^trainer\/src\/(loop|packing)\/|onnxruntime|\/hono\//.test(
        file,
      ),
    ),
  ).toEqual([]);
});

it('importing agentjet loads at most 190 files, those of zod among them', () => {
  const { files } = probeSource('packages/agentjet/src/index.ts');
  const own = files.filter((file) => !/node_modules[\\/](tsx|get-tsconfig|esbuild|resolve-pkg-maps)[\\/]/.test(file));
  expect(own.filter((file) => /node_modules[\\/]yaml[\\/]/.test(file))).toEqual([]);
  expect(own.length).toBeLessThanOrEqual(190);
});

it('importing inspect loads no native library and no trainer', () => {
  const { files, native } = probeSource('packages/inspect/src/index.ts');
  expect(native).toEqual([]);
  expect(
    files.filter((file) => file.includes('onnxruntime') || path.relative(root, file).startsWith('trainer')),
  ).toEqual([]);
});

it('counts a native library that is loaded', () => {
  const { native } = probeSource('packages/onnx/src/index.ts');
  expect(native.some((file) => file.includes('onnxruntime'))).toBe(true);
});
