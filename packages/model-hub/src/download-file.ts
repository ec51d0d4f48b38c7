import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BackboneError, explainCacheError } from '@agentjet/core';
import { claimWriting, releaseWriting } from '@agentjet/run-folder';
import { isPresent } from './cached-model.js';
import { openContent, pauseAfter, type HubClient } from './hub-client.js';
import type { HubFile } from './model-files.js';
import { showModelName, type ModelName } from './model-name.js';

/**
 * Downloads one blob of the cache. The content is written to `<blob>.incomplete`, from the byte at which an earlier
 * attempt or process stopped, and becomes the blob when its checksum is right. One process writes it at a time; others
 * wait for it.
 */

export type BlobRequest = {
  readonly name: ModelName;
  readonly file: HubFile;
  /** The path of the blob. */
  readonly blob: string;
  /** Called with the number of bytes of this file that are on disk. */
  readonly onBytes: (bytes: number) => void;
  /** Called once if another process downloads the file. */
  readonly onWait: () => void;
};

const waitMs = 200;

/** Calls of this process for the same blob. The second call waits for the first. */
const underWay = new Map<string, Promise<void>>();

/**
 * Rejects with BackboneError `checksum` or `disk_full`, with the hub's refusal, or with the signal's reason if it
 * aborts.
 */
export async function downloadFile(client: HubClient, request: BlobRequest): Promise<void> {
  const { blob } = request;
  for (let other = underWay.get(blob); other !== undefined; other = underWay.get(blob))
    await other.catch(() => undefined);
  const download = downloadAlone(client, request).finally(() => underWay.delete(blob));
  underWay.set(blob, download);
  return download;
}

async function downloadAlone(client: HubClient, request: BlobRequest): Promise<void> {
  const claim = `${request.blob}.writer`;
  if (!(await claimBlob(client, request, claim))) return;
  try {
    if (!(await isPresent(request.blob))) await complete(client, request);
    request.onBytes(request.file.size);
  } finally {
    await releaseWriting(claim);
  }
}

/**
 * Waits until this process may download the blob. Resolves with false if another process has downloaded it meanwhile.
 */
async function claimBlob(client: HubClient, { blob, onWait }: BlobRequest, claim: string): Promise<boolean> {
  for (let isFirst = true; ; isFirst = false) {
    if (await isPresent(blob)) return false;
    try {
      await claimWriting(claim);
      return true;
    } catch (error) {
      if (!(error instanceof BackboneError && error.code === 'run_in_use')) throw diskError(blob, error);
    }
    if (isFirst) onWait();
    await sleep(waitMs, undefined, client.signal && { signal: client.signal });
  }
}

async function complete(client: HubClient, request: BlobRequest): Promise<void> {
  const incomplete = `${request.blob}.incomplete`;
  await receiveAll(client, request, incomplete);
  await checkSum(request, incomplete);
  await rename(incomplete, request.blob);
}

/**
 * Asks again from the byte at which a connection broke, until the file is complete. Only attempts without a new byte
 * are counted.
 */
async function receiveAll(client: HubClient, request: BlobRequest, incomplete: string): Promise<void> {
  const { name, file } = request;
  let attempt = 0;
  for (let size = await sizeOf(incomplete); size !== file.size; ) {
    // Start again if there are too many bytes: the incomplete file belongs to another download or was written twice.
    if (size > file.size) await rm(incomplete, { force: true });
    let failure: unknown;
    try {
      await receive(client, request, incomplete);
    } catch (error) {
      failure = error;
    }
    const now = await sizeOf(incomplete);
    attempt = now > size && size <= file.size ? 0 : attempt + 1;
    size = now;
    if (size === file.size) return;
    await pauseAfter(client, { name, error: failure ?? new Error('the connection breaks'), attempt });
  }
}

/** Appends the content of one response. */
async function receive(
  client: HubClient,
  { name, file, blob, onBytes }: BlobRequest,
  incomplete: string,
): Promise<void> {
  const stall = new AbortController();
  const signal = client.signal === undefined ? stall.signal : AbortSignal.any([client.signal, stall.signal]);
  const timer = setTimeout(() => stall.abort(new Error('it has gone silent')), client.settings.stallMs);
  const handle = await open(incomplete, 'a').catch((error: unknown) => {
    throw diskError(blob, error);
  });
  try {
    const { size: start } = await handle.stat();
    const response = await openContent({ ...client, signal }, { name, file: file.path, start });
    const isFromStart = response.status === 416 || (start > 0 && firstByteOf(response) !== start);
    if (isFromStart) await handle.truncate(0);
    if (response.status !== 416 && response.body !== null)
      await append(handle, { response, size: isFromStart ? 0 : start, blob, limit: file.size }, (size) => {
        timer.refresh();
        onBytes(size);
      });
  } finally {
    clearTimeout(timer);
    await handle.close();
  }
}

/** Returns the position of the first byte of a response. It is 0 if the response has the whole file. */
function firstByteOf({ status, headers }: Response): number {
  return status === 206 ? Number(/^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1] ?? Number.NaN) : 0;
}

type Arriving = { readonly response: Response; readonly size: number; readonly blob: string; readonly limit: number };

async function append(
  handle: FileHandle,
  { response, size: before, blob, limit }: Arriving,
  onSize: (size: number) => void,
): Promise<void> {
  let size = before;
  for await (const chunk of response.body ?? []) {
    if (size + chunk.length > limit) {
      await handle.truncate(0);
      throw sumError(blob, `is longer than ${limit} bytes, the size that the hub reports`);
    }
    await handle.appendFile(chunk).catch((error: unknown) => {
      throw diskError(blob, error);
    });
    size += chunk.length;
    onSize(size);
  }
}

/**
 * The name of a blob is its checksum: sha256 for large files, git's own hash for small ones. Other names are not
 * checksums.
 */
async function checkSum({ name, file }: BlobRequest, incomplete: string): Promise<void> {
  const hash =
    file.etag.length === 64
      ? createHash('sha256')
      : file.etag.length === 40
        ? createHash('sha1').update(`blob ${file.size}\0`)
        : undefined;
  if (hash === undefined || !/^[0-9a-f]+$/.test(file.etag)) return;
  await pipeline(createReadStream(incomplete), hash);
  const found = hash.digest('hex');
  if (found === file.etag) return;
  await rm(incomplete, { force: true });
  throw sumError(
    file.path,
    `of ${showModelName(name)} has the sum ${found.slice(0, 12)}... instead of ${file.etag.slice(0, 12)}...`,
  );
}

function sumError(file: string, what: string): BackboneError {
  return new BackboneError(
    'checksum',
    `The downloaded ${file} ${what}, and was removed. Try again; if it happens again, the mirror or a proxy changes files: look at HF_ENDPOINT.`,
  );
}

function diskError(blob: string, error: unknown): BackboneError {
  const { code, reason } = explainCacheError(error);
  return new BackboneError(
    code,
    `Cannot write ${blob}: ${reason}, or name another folder with HF_HOME. The downloaded bytes are kept.`,
    { cause: error },
  );
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
