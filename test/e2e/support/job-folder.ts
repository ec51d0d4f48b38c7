import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { type JobFiles, type JobYaml, writeJob } from './job-files.js';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Makes a separate folder, which is removed after the tests of the file. */
export function createScratchFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'ajet-e2e-'));
  folders.push(folder);
  return folder;
}

/** Makes a working job in a separate folder: job.yaml, agent.ts, train.jsonl and test.jsonl. */
export function createJobFolder(modelDir: string, files: JobFiles = {}, changes: JobYaml = {}): string {
  return writeJob(createScratchFolder(), modelDir, files, changes);
}
