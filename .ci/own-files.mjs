// Lists the files of the repository that people write, without what tools make.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { root } from './workspaces.mjs';

const notOurs = new Set(['node_modules', 'dist', 'saved_experiments', 'coverage', 'packed', '__pycache__']);
const ourDots = new Set(['.ci', '.github']);
/** `npm pack` copies the pages and the skills here. */
const packedCopies = new Set(['packages/agentjet/docs', 'packages/agentjet/skills']);

/** Returns the files below a folder, as paths from the root with `/`. */
export function ownFiles(folder = '') {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (notOurs.has(entry.name) || packedCopies.has(name)) return [];
    if (entry.name.startsWith('.') && !ourDots.has(entry.name)) return [];
    return entry.isDirectory() ? ownFiles(name) : [name];
  });
}
