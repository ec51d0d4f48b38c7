// Checks whether `node .ci/setup.mjs` has installed what the lockfile lists.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url))); // import.meta.dirname is newer than the oldest Nodes, and setup.mjs has to run on those to refuse them
const stampFile = path.join(root, 'node_modules', '.agentjet-installed');

const wanted = () =>
  createHash('sha256')
    .update(readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex');

export const isInstalled = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted();
export const rememberInstalled = () => writeFileSync(stampFile, wanted());
