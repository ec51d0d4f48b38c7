import { BackboneError, toErrorMessage } from '@agentjet/core';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free some space, then go on with --resume',
  EDQUOT: 'the disk quota is used up. Free some space, then go on with --resume',
  EACCES: 'it is not writable for this user. Change its permissions, or choose another experiment_dir',
  EPERM: 'it is not writable for this user. Change its permissions, or choose another experiment_dir',
  EROFS: 'the file system is read-only. Choose another experiment_dir',
  ENOTDIR: 'a part of the path is a file, not a folder. Choose another experiment_dir',
  EEXIST: 'a file stands where the folder should be. Choose another experiment_dir',
};

/** `Cannot write <path>: <why and what to do>` from whatever a file call threw. */
export function describeFileError(file: string, thrown: unknown): string {
  const code = typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : '';
  return `Cannot write ${file}: ${reasons[code] ?? toErrorMessage(thrown)}.`;
}

/** Runs a write; a failure becomes a BackboneError with code `run_folder` that names the file. */
export async function writing<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    if (thrown instanceof BackboneError) throw thrown;
    throw new BackboneError('run_folder', describeFileError(file, thrown), { cause: thrown });
  }
}
