import { readdirSync } from 'node:fs';
import path from 'node:path';

const notOurs = new Set(['node_modules', 'dist', 'saved_experiments', 'coverage', '__pycache__', 'results', 'golden']);
const hiddenButOurs = new Set(['.ci', '.github', '.vscode']);
const isOurs = (name: string): boolean => !notOurs.has(name) && (!name.startsWith('.') || hiddenButOurs.has(name));

/** Returns every JavaScript and TypeScript file under a folder, relative to it, with forward slashes. */
export function sourceFiles(folder: string, below = ''): string[] {
  return readdirSync(path.join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(below, entry.name);
    if (entry.isDirectory()) return isOurs(entry.name) ? sourceFiles(folder, name) : [];
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [name] : [];
  });
}
