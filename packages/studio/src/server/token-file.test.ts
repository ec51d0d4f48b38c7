import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findStudios, writeTokenFile } from './token-file.js';

test('lists only studios whose processes are alive, even if another process has the pid of a killed one', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'studio-token-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const studio = { origin: 'http://127.0.0.1:4100', token: 't', port: 4100, folder: dir };
  const file = writeTokenFile(studio, dir) ?? expect.fail();
  expect(findStudios(dir)).toEqual([studio]);
  const written = JSON.parse(readFileSync(file, 'utf8')) as { readonly pid: number };
  expect(written.pid).toBe(process.pid);
  writeFileSync(file, JSON.stringify({ ...written, started: 'earlier' }));
  expect(findStudios(dir)).toEqual([]);
  writeFileSync(file, JSON.stringify({ ...written, pid: 2 ** 30 }));
  expect(findStudios(dir)).toEqual([]);
});
