import { readdir } from 'node:fs/promises';
import { BackboneError, toErrorMessage, codeOfError } from '@agentjet/core';

/** Reasons and repairs by error code. `elsewhere` names what the user can choose instead. */
const reasons: Readonly<Record<string, (elsewhere: string) => string>> = {
  ENOSPC: () => 'the disk is full. Free some space, then continue with --resume',
  EDQUOT: () => 'the disk quota is used up. Free some space, then continue with --resume',
  EFBIG: () =>
    'the file would be larger than this process may write (ulimit -f). Raise the limit, then continue with --resume',
  EACCES: (elsewhere) => `it is not writable for this user. Change its permissions, or choose ${elsewhere}`,
  EPERM: (elsewhere) => `it is not writable for this user. Change its permissions, or choose ${elsewhere}`,
  EROFS: (elsewhere) => `the file system is read-only. Choose ${elsewhere}`,
  ENOTDIR: (elsewhere) => `a part of the path is a file, not a folder. Choose ${elsewhere}`,
  ENOENT: (elsewhere) => `no folder can be made there. Choose ${elsewhere}`,
  EISDIR: () => 'a folder is in its place. Move that folder away, then continue with --resume',
  EIO: () => 'the disk reports an error. Copy the run to another disk, then continue with --resume',
  EEXIST: (elsewhere) => `a file is in the place of the folder. Choose ${elsewhere}`,
};

/** Returns `Cannot write <path>: <why and what to do>` for the error of a file operation. */
export function describeFileError(file: string, thrown: unknown, elsewhere = 'another experiment_dir'): string {
  return `Cannot write ${file}: ${reasons[codeOfError(thrown) ?? '']?.(elsewhere) ?? toErrorMessage(thrown)}.`;
}

/** Runs a write. A failure becomes a BackboneError with code `run_folder` that names the file. */
export async function writing<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    if (thrown instanceof BackboneError) throw thrown;
    throw new BackboneError('run_folder', describeFileError(file, thrown), { cause: thrown });
  }
}

const unreadable: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder, not a file. Move that folder away',
  ENOTDIR: 'it is a file, not a folder. Move that file away',
  ELOOP: 'its symbolic links lead in a circle. Remove the link',
  EACCES: 'it is not readable for this user. Change its permissions',
  EPERM: 'it is not readable for this user. Change its permissions',
  EIO: 'the disk reports an error. Copy the run to another disk',
};

/** Returns the names in a folder, or none if it does not exist. Throws BackboneError `run_folder`. */
export function readFolder(dir: string): Promise<readonly string[]> {
  return reading(dir, () =>
    readdir(dir).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'ENOENT') return [];
      throw thrown;
    }),
  );
}

/** Runs a read. A failure becomes a BackboneError with code `run_folder` that names the file and the repair. */
export async function reading<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof BackboneError) throw thrown;
    const reason = unreadable[codeOfError(thrown) ?? ''] ?? toErrorMessage(thrown);
    throw new BackboneError('run_folder', `Cannot read ${file}: ${reason}.`, { cause: thrown });
  }
}
