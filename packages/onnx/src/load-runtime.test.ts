import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { describeFailure } from './load-runtime.js';

it('names the platforms that have a binary, and the reason if this one has', () => {
  const binaries = mkdtempSync(path.join(tmpdir(), 'binaries-'));
  for (const platform of ['linux/x64', 'darwin/arm64']) {
    mkdirSync(path.join(binaries, 'napi-v6', platform), { recursive: true });
    writeFileSync(path.join(binaries, 'napi-v6', platform, 'onnxruntime_binding.node'), '');
  }
  const missing = describeFailure(binaries, 'not found', { platform: 'darwin', arch: 'x64' });
  const broken = describeFailure(binaries, 'GLIBC_2.38 not found.', { platform: 'linux', arch: 'x64' });
  rmSync(binaries, { recursive: true });
  expect(missing).toBe(
    'onnxruntime-node has no binary for darwin-x64. It has binaries for darwin-arm64, linux-x64. Choose another backbone: torch, verl or tinker.',
  );
  expect(broken).toContain('does not load on linux-x64: GLIBC_2.38 not found.');
});
