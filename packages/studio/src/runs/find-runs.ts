import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { sha256 } from '@agentjet/core';

/** A run folder below the folder that the studio shows. */
export type FoundRun = { readonly id: string; readonly path: string; readonly dir: string };

/** Runs are `<experiment_dir>/<experiment_name>/<time>`, and a folder may hold several experiment folders. */
const maxDepth = 5;
const maxFolders = 20_000;
const skipped = new Set(['node_modules', 'checkpoints', 'episodes', 'recorded', 'index']);

/**
 * Finds the run folders below a folder, the folder itself included. Links are not followed, so that nothing outside of
 * the folder is shown. A run inside another run is one of its policies.
 */
export async function findRuns(root: string): Promise<readonly FoundRun[]> {
  const found: FoundRun[] = [];
  const open: { readonly dir: string; readonly depth: number }[] = [{ dir: path.resolve(root), depth: 0 }];
  for (let next = open.shift(), seen = 0; next !== undefined && seen < maxFolders; next = open.shift(), seen++) {
    const { dir, depth } = next;
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
    if (isRun(entries)) found.push(toRun(root, dir));
    if (depth === maxDepth) continue;
    const folders = entries.filter((entry) => entry.isDirectory() && !skipped.has(entry.name) && entry.name[0] !== '.');
    open.push(...folders.map(({ name }) => ({ dir: path.join(dir, name), depth: depth + 1 })));
  }
  return withOwnIds(found.sort((a, b) => (a.path < b.path ? -1 : 1)));
}

const isRun = (entries: readonly { readonly name: string; isFile(): boolean }[]): boolean => {
  const files = new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
  return files.has('config.yaml') && (files.has('rules.json') || files.has('metrics.jsonl'));
};

function toRun(root: string, dir: string): FoundRun {
  const relative = path.relative(path.resolve(root), dir).replaceAll(path.sep, '/');
  return { id: hashOf(nameOf(dir)), path: relative === '' ? path.basename(dir) : relative, dir };
}

/** Returns `<experiment_name>/<time>` and, for a policy of a run, also `policies/<policy>`. */
function nameOf(dir: string): string {
  const parts = dir.split(path.sep);
  return parts.slice(parts.at(-2) === 'policies' ? -4 : -2).join('/');
}

/** Makes ids from names, so links stay valid over another folder. Runs of the same name get ids from their paths. */
function withOwnIds(runs: readonly FoundRun[]): readonly FoundRun[] {
  const counts = new Map<string, number>();
  for (const { id } of runs) counts.set(id, (counts.get(id) ?? 0) + 1);
  return runs.map((run) => (counts.get(run.id) === 1 ? run : { ...run, id: hashOf(run.path) }));
}

const hashOf = (name: string): string => sha256(name, 'base64url').slice(0, 12);
