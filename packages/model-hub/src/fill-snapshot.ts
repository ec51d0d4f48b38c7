import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, rename, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, codeOfError } from '@agentjet/core';
import { isPresent, type CacheFolder } from './cached-model.js';
import { downloadFile } from './download-file.js';
import type { HubClient, HubModel } from './hub-client.js';
import type { HubFile } from './model-files.js';
import { showModelName, type ModelName } from './model-name.js';

export type DownloadProgress = { readonly doneBytes: number; readonly totalBytes: number };

/** One commit of a repository, and its folder in the cache. */
export type SnapshotJob = {
  readonly client: HubClient;
  readonly name: ModelName;
  readonly folder: CacheFolder;
  readonly model: HubModel;
  readonly options: {
    readonly onProgress?: (progress: DownloadProgress) => void;
    readonly onNotice?: (message: string) => void;
  };
};

/** Puts files into the snapshot and downloads missing ones. Throws BackboneError as `downloadModel` does. */
export async function getFiles(job: SnapshotJob, files: readonly HubFile[]): Promise<void> {
  const { client, name, folder, options } = job;
  const missing: HubFile[] = [];
  for (const file of files) if (!(await isHere(job, file))) missing.push(file);
  await refuseFullDisk(job, missing);
  const totalBytes = files.reduce((sum, { size }) => sum + size, 0);
  let before = 0;
  for (const file of files) {
    const blob = folder.blob(file.etag);
    const report = (bytes: number): void => options.onProgress?.({ doneBytes: before + bytes, totalBytes });
    const onWait = (): void =>
      options.onNotice?.(`Another process is downloading ${file.path} of ${name.id}; waiting for it.`);
    if (missing.includes(file)) await downloadFile(client, { name: at(job), file, blob, onBytes: report, onWait });
    const place = path.join(folder.snapshot(job.model.commit), ...file.path.split('/'));
    await makeCacheFolder(path.dirname(place));
    await linkIntoSnapshot(blob, place);
    before += file.size;
  }
}

/**
 * Whether the file is in the cache. If links are not allowed, other programs keep a file only in the snapshot and not
 * as a blob.
 */
async function isHere({ folder, model }: SnapshotJob, { etag, path: file, size }: HubFile): Promise<boolean> {
  const places = [folder.blob(etag), path.join(folder.snapshot(model.commit), file)];
  return (await Promise.all(places.map(sizeOf))).includes(size);
}

/** Returns the name with the commit as its revision, because a branch may move during a download. */
function at({ name, model }: SnapshotJob): ModelName {
  return { ...name, revision: model.commit };
}

/** Checks the free space first, because the sizes are known. */
async function refuseFullDisk({ folder, name, client }: SnapshotJob, missing: readonly HubFile[]): Promise<void> {
  let needed = 0;
  for (const { etag, size } of missing)
    needed += size - Math.min(size, Math.max(0, await sizeOf(`${folder.blob(etag)}.incomplete`)));
  const { bavail, bsize } = await statfs(folder.dir);
  if (needed <= bavail * bsize) return;
  const [needs, free] = [needed, bavail * bsize].map((bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`);
  throw new BackboneError(
    'disk_full',
    `${showModelName(name)} needs ${needs} more on disk; ${client.settings.cacheDir} has ${free} free. Free some space, or name a folder on another disk with HF_HOME.`,
  );
}

/**
 * Creates a relative link, as Hugging Face's programs do, so the cache can be moved. If links are not allowed
 * (Windows), it copies the file.
 */
async function linkIntoSnapshot(blob: string, file: string): Promise<void> {
  try {
    await symlink(path.relative(path.dirname(file), blob), file);
  } catch (error) {
    if (await isPresent(file)) return;
    const code = codeOfError(error) ?? '';
    if (['EPERM', 'ENOSYS', 'ENOTSUP'].includes(code)) return copyFile(blob, file);
    if (code !== 'EEXIST') throw error;
    await rm(file, { force: true }); // this was a link to a blob that was removed
    return linkIntoSnapshot(blob, file);
  }
}

/**
 * Writes the commit of the revision. Call it last, so that the revision does not change if this process is killed
 * before.
 */
export async function writeRef({ folder, name, model }: SnapshotJob): Promise<void> {
  const ref = folder.ref(name.revision);
  await makeCacheFolder(path.dirname(ref));
  const temporary = path.join(folder.dir, `.ref-${randomUUID()}`);
  await writeFile(temporary, model.commit);
  await rename(temporary, ref);
}

export async function makeCacheFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true }).catch((error: unknown) => {
    throw new BackboneError(
      'cache_unwritable',
      `Cannot make ${dir}. Make it writable, or name another folder with HF_HOME.`,
      {
        cause: error,
      },
    );
  });
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => -1,
  );
}
