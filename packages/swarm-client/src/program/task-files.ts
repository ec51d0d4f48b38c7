import { lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { TaskError, type Task } from '@agentjet/core';

/** The files of a task, `metadata.files`: contents by their paths in the folder of the episode. */
export type TaskFiles = Readonly<Record<string, string>>;

/** The maximum size of a file that is read back for the judge, in bytes. */
const mostBytes = 64 * 1024;

/**
 * Returns the files of a task. Undefined if it has none.
 * @throws TypeError for a path that leaves the folder, or a file that is not text
 */
export function filesOf({ taskId, metadata: { files } }: Task): TaskFiles | undefined {
  if (typeof files !== 'object' || files === null || Array.isArray(files)) return undefined;
  for (const [name, text] of Object.entries(files)) {
    if (typeof text !== 'string') throw new TypeError(`Task ${taskId}: the file ${name} of its metadata is not text.`);
    if (path.isAbsolute(name) || path.normalize(name).startsWith('..'))
      throw new TypeError(`Task ${taskId}: the file ${name} of its metadata is outside of the folder.`);
  }
  return files as TaskFiles;
}

export function writeTaskFiles(files: TaskFiles, folder: string): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    if (followsLink(folder, name))
      throw new TaskError(
        'task_refused',
        `The file ${name} of the task is not written, because a part of its path is a symbolic link in the folder. Remove the link, or rename the file.`,
      );
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Returns whether a part of the path is a symbolic link, which could lead out of the folder. */
function followsLink(folder: string, name: string): boolean {
  let at = folder;
  for (const part of path.normalize(name).split(path.sep)) {
    at = path.join(at, part);
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() === true) return true;
  }
  return false;
}

/**
 * Returns the files after the episode. It leaves out a file that is gone, has more than 64 KiB, is not a plain file, or
 * is reached through a symbolic link.
 */
export function readFiles(files: TaskFiles, folder: string): TaskFiles {
  const left: Record<string, string> = {};
  for (const name of Object.keys(files)) {
    const file = path.join(folder, name);
    if (followsLink(folder, name)) continue;
    const seen = lstatSync(file, { throwIfNoEntry: false });
    if (seen?.isFile() === true && seen.size <= mostBytes) left[name] = readFileSync(file, 'utf8');
  }
  return left;
}
