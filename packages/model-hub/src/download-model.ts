import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { cacheFolderOf, findCachedModel, isPresent, type CachedModel, type CacheFolder } from './cached-model.js';
import { downloadFile } from './download-file.js';
import { describeModel, type HubClient, type HubModel } from './hub-client.js';
import { readHubSettings, type HubSettings } from './hub-settings.js';
import {
  chooseDescription,
  chooseWeights,
  indexFile,
  optionalFiles,
  readShardNames,
  type HubFile,
} from './model-files.js';
import { showModelName, type ModelName } from './model-name.js';

export type DownloadProgress = { readonly doneBytes: number; readonly totalBytes: number };

export type DownloadOptions = {
  /** From the environment unless given. */
  readonly settings?: HubSettings;
  /** False: only the small files that say what the model is. True unless given. */
  readonly withWeights?: boolean;
  /** True: asks the hub for the newest commit even if the model is in the cache. */
  readonly isRefresh?: boolean;
  /** Aborting leaves what has come, for the next call to go on from. */
  readonly signal?: AbortSignal;
  /** Called often; only if there is something to download. */
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly onNotice?: (message: string) => void;
  /** Before the second attempt of a request; 500 unless given. */
  readonly pauseMs?: number;
};

type Job = {
  readonly client: HubClient;
  readonly name: ModelName;
  readonly folder: CacheFolder;
  readonly model: HubModel;
  readonly options: DownloadOptions;
};

/**
 * The model's folder in the cache. Asks the hub only for what the cache lacks. Rejects with BackboneError `model_not_found`,
 * `model_gated`, `hub_unreachable`, `hub_offline`, `bad_model_files`, `disk_full` or `checksum`.
 */
export async function downloadModel(name: ModelName, options: DownloadOptions = {}): Promise<CachedModel> {
  const { settings = readHubSettings(), withWeights = true, signal, pauseMs = 500 } = options;
  const cached = await findCachedModel(settings, name);
  const isEnough = cached !== undefined && (cached.hasWeights || !withWeights);
  if (isEnough && (settings.isOffline || (cached.isWhole && options.isRefresh !== true))) return cached;
  if (settings.isOffline) throw offline(settings, name);
  const client: HubClient = { settings, signal, pauseMs };
  const model = await describeModel(client, name);
  const folder = cacheFolderOf(settings, name.id);
  await download({ client, name, folder, model, options });
  const found = await findCachedModel(settings, name);
  if (found === undefined) throw new Error(`The download of ${name.id} ended without a model.`);
  return found;
}

function offline({ cacheDir }: HubSettings, name: ModelName): BackboneError {
  return new BackboneError(
    'hub_offline',
    `${showModelName(name)} is not in ${cacheDir}, and HF_HUB_OFFLINE forbids to download it. Unset it, or download the model elsewhere and copy the cache.`,
  );
}

async function download(job: Job): Promise<void> {
  const { folder, model, name, options } = job;
  const { withWeights = true } = options;
  const id = showModelName(name);
  const description = chooseDescription(id, model.files);
  const weights = withWeights ? chooseWeights(id, model.files) : undefined;
  await makeFolder(path.dirname(folder.blob('x')));
  await makeFolder(folder.snapshot(model.commit));
  await getFiles(job, description);
  for (const file of optionalFiles)
    if (!description.some(({ path: known }) => known === file)) await markAbsent(job, file);
  if (weights?.path === indexFile) {
    await getFiles(job, [weights]);
    const index = await readFile(path.join(folder.snapshot(model.commit), indexFile), 'utf8');
    await getFiles(job, shardsOf(id, model, readShardNames(id, index)));
  } else if (weights !== undefined) await getFiles(job, [weights]);
  if (name.revision !== model.commit) await writeRef(job);
}

function shardsOf(id: string, { files }: HubModel, names: readonly string[]): readonly HubFile[] {
  return names.map((name) => {
    const file = files.find(({ path: known }) => known === name);
    if (file !== undefined) return file;
    throw new BackboneError('bad_model_files', `${indexFile} of ${id} names ${name}, which the repository lacks.`);
  });
}

async function getFiles(job: Job, files: readonly HubFile[]): Promise<void> {
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
      options.onNotice?.(`Another process downloads ${file.path} of ${name.id}; waiting for it.`);
    if (missing.includes(file)) await downloadFile(client, { name: at(job), file, blob, onBytes: report, onWait });
    await linkIntoSnapshot(blob, path.join(folder.snapshot(job.model.commit), file.path));
    before += file.size;
  }
}

/** Where links are not allowed, other programs keep a file in the snapshot alone. */
async function isHere({ folder, model }: Job, { etag, path: file, size }: HubFile): Promise<boolean> {
  const places = [folder.blob(etag), path.join(folder.snapshot(model.commit), file)];
  return (await Promise.all(places.map(sizeOf))).includes(size);
}

/** Content is asked for by commit: a branch may move during a download. */
function at({ name, model }: Job): ModelName {
  return { id: name.id, revision: model.commit };
}

/** The sizes are known, so a full disk need not be found by filling it. */
async function refuseFullDisk({ folder, name, client }: Job, missing: readonly HubFile[]): Promise<void> {
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

/** As Hugging Face's programs do: a relative link, so that the cache can be moved; a copy if links are not allowed (Windows). */
async function linkIntoSnapshot(blob: string, file: string): Promise<void> {
  try {
    await symlink(path.relative(path.dirname(file), blob), file);
  } catch (error) {
    if (await isPresent(file)) return;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (['EPERM', 'ENOSYS', 'ENOTSUP'].includes(code)) return copyFile(blob, file);
    if (code !== 'EEXIST') throw error;
    await rm(file, { force: true }); // a link to a blob that was removed
    return linkIntoSnapshot(blob, file);
  }
}

async function markAbsent({ folder, model }: Job, file: string): Promise<void> {
  const marker = folder.absent(model.commit, file);
  await makeFolder(path.dirname(marker));
  await writeFile(marker, '');
}

/** Last of all: until then the revision is what it was, also if this process is killed. */
async function writeRef({ folder, name, model }: Job): Promise<void> {
  const ref = folder.ref(name.revision);
  await makeFolder(path.dirname(ref));
  const temporary = path.join(folder.dir, `.ref-${randomUUID()}`);
  await writeFile(temporary, model.commit);
  await rename(temporary, ref);
}

async function makeFolder(dir: string): Promise<void> {
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
