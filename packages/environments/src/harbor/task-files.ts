import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { TaskError } from '@agentjet/core';
import type { Leaves } from '@agentjet/sandbox/boxes';
import ignore, { type Ignore } from 'ignore';

/** The files of a task: which of them count, whether they stay in the task, and what identifies them. */

/** Throws TaskError if a symlink of the folder leaves the task. */
export async function refuseLinks(folder: string, root: string): Promise<void> {
  const inside = await realpath(root);
  for (const file of await listFiles(folder)) {
    if (!(await lstat(path.join(folder, file))).isSymbolicLink()) continue;
    const target = await realpath(path.join(folder, file)).catch(() => undefined);
    if (target === undefined || target === inside || target.startsWith(inside + path.sep)) continue;
    const seen = path.relative(root, path.join(folder, file));
    throw new TaskError(
      'bad_task',
      `The symlink ${seen} of the task ${root} points to ${target}, outside of the task.`,
    );
  }
}

/** Returns a hash of the names, modes and contents of all files of a folder. */
export async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await listFiles(folder)) {
    const full = path.join(folder, file);
    const stat = await lstat(full);
    hash.update(`${file}\0${stat.mode & 0o777}\0${stat.size}\0`);
    if (stat.isSymbolicLink()) hash.update(await readlink(full));
    else if (stat.isFile()) for await (const part of createReadStream(full)) hash.update(part as Buffer);
  }
  return hash.digest('hex');
}

/** Lists everything below a folder, in a fixed order. Does not follow symlinks. */
async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true });
  return entries.map((entry) => entry.split(path.sep).join('/')).sort();
}

const ignoreFile = '.harborignore';

/**
 * Returns which files of `tests/` or `solution/` Harbor leaves out: those that a `.harborignore` of the task's folder or
 * below names, and these files themselves.
 */
export function ignoredIn(root: string, folder: string): Leaves {
  const rules = new Map<string, Ignore>();
  const rulesOf = (directory: string): Ignore => {
    const known = rules.get(directory);
    if (known !== undefined) return known;
    const file = path.join(root, directory, ignoreFile);
    const made = ignore().add(existsSync(file) ? readFileSync(file, 'utf8') : '');
    rules.set(directory, made);
    return made;
  };
  return (relative) => {
    const whole = path.posix.join(folder, relative);
    if (path.posix.basename(whole) === ignoreFile) return true;
    const parts = whole.split('/').filter((part) => part !== '');
    let isIgnored = false;
    for (let depth = 0; depth < parts.length; depth++) {
      const below = parts.slice(depth).join('/') + (whole.endsWith('/') ? '/' : '');
      const verdict = rulesOf(parts.slice(0, depth).join('/')).test(below);
      if (verdict.ignored) isIgnored = true;
      else if (verdict.unignored) isIgnored = false;
    }
    return isIgnored;
  };
}
