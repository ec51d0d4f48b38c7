import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../.ci/workspaces.mjs';
import { type LockedPackage, missingBinaries } from './missing-binaries.js';

const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** Lists the platforms of the binaries in a package, such as `bin/napi-v6/linux/x64/onnxruntime_binding.node`. */
function ownBinaries(name: string): readonly string[] {
  const dir = path.join(root, 'node_modules', name);
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.node'))
    .map((file) => path.dirname(file).split(path.sep).slice(-2).join('-'));
}

it('every native dependency of users has a binary for each platform that we support', () => {
  expect(missingBinaries(packages, ownBinaries)).toEqual([]);
});

it('finds the native dependencies', () => {
  const names = ['esbuild', 'lmdb', 'onnxruntime-node'];
  expect(names.filter((name) => packages[`node_modules/${name}`]?.hasInstallScript !== true)).toEqual([]);
});

it.each([
  ['@lmdb/lmdb-linux-arm64', 'lmdb@3.5.6 has no binary for linux-arm64'],
  ['@esbuild/win32-x64', 'esbuild@0.28.2 has no binary for win32-x64'],
])('refuses a lock file without %s by name', (name, message) => {
  const { [`node_modules/${name}`]: _without, ...rest } = packages;
  expect(missingBinaries(rest, ownBinaries)).toEqual([message]);
});

it('refuses a package that has its binaries in itself and lacks one', () => {
  const withoutMac = (name: string) => ownBinaries(name).filter((platform) => platform !== 'darwin-arm64');
  expect(missingBinaries(packages, withoutMac)).toEqual(['onnxruntime-node@1.30.0 has no binary for darwin-arm64']);
});
