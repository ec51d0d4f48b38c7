import { setTimeout as sleep } from 'node:timers/promises';
import { BackboneError, isJsonObject, parseJsonObject, toErrorMessage, codeOfError } from '@agentjet/core';
import type { HubSettings } from './hub-settings.js';
import type { HubFile } from './model-files.js';
import { nounOf, showModelName, type ModelName } from './model-name.js';
import { fetchThroughProxy } from './proxy.js';

/**
 * Sends requests to the hub and turns its refusals into readable errors. The README says why the library
 * `@huggingface/hub` is not used.
 */

/** A model at one commit. */
export type HubModel = { readonly commit: string; readonly files: readonly HubFile[] };

export type HubClient = {
  readonly settings: HubSettings;
  readonly signal: AbortSignal | undefined;
  /** The length of the pause before the second attempt. Later pauses are longer. */
  readonly pauseMs: number;
};

/** The maximum number of consecutive attempts that receive no bytes. */
const maxAttempts = 6;
const longestPauseMs = 15_000;

/**
 * Describes the hub's repository with this name. Throws BackboneError `model_not_found`, `revision_not_found` (of a
 * data set), `model_gated` or `hub_unreachable`.
 */
export async function describeModel(client: HubClient, name: ModelName): Promise<HubModel> {
  const path = `/api/${name.kind ?? 'model'}s/${name.id}/revision/${encodeURIComponent(name.revision)}?blobs=true`;
  const response = await askAgain(client, name, () => readWithin(client, path));
  const description = parseJsonObject(await response.text()) ?? {};
  const { sha, siblings } = description;
  if (typeof sha !== 'string' || !/^\w+$/.test(sha) || !Array.isArray(siblings))
    throw unreachable(client, name, 'its answer is not that of a hub');
  const files = await Promise.all(
    siblings.map(
      async (sibling: unknown) => toFile(sibling) ?? askForFile(client, { ...name, revision: sha }, sibling),
    ),
  );
  return { commit: sha, files: files.filter((file) => file !== undefined) };
}

/** Reads a whole small answer from a hub that may fall silent in the middle of it. */
async function readWithin(client: HubClient, path: string): Promise<Response> {
  const stall = AbortSignal.timeout(client.settings.stallMs);
  const signal = client.signal === undefined ? stall : AbortSignal.any([client.signal, stall]);
  const response = await request({ ...client, signal }, path);
  return response.ok ? new Response(await response.text()) : response;
}

/**
 * Requests the content from byte `start`. The status is 200 if the server does not support ranges, 206 if it does, and
 * 416 if there is no such byte.
 */
export async function openContent(
  client: HubClient,
  { name, file, start }: { readonly name: ModelName; readonly file: string; readonly start: number },
): Promise<Response> {
  const headers = start === 0 ? {} : { range: `bytes=${start}-` };
  const response = await request(client, contentPath(name, file), { headers });
  if (!response.ok && response.status !== 416) await refuse(client, name, response);
  return response;
}

/**
 * Calls `ask` until its answer is usable. It is called again after failures that may be temporary (no connection, 429,
 * 5xx).
 */
async function askAgain(client: HubClient, name: ModelName, ask: () => Promise<Response>): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await ask();
      if (response.ok) return response;
      await refuse(client, name, response);
    } catch (error) {
      await pauseAfter(client, { name, error, attempt });
    }
  }
}

/**
 * Waits before the next attempt. `attempt` is the number of consecutive attempts that received no bytes. If it is 0,
 * there is no wait. If another attempt cannot help, throws BackboneError `hub_unreachable` or the error itself.
 */
export async function pauseAfter(
  client: HubClient,
  { name, error, attempt }: { readonly name: ModelName; readonly error: unknown; readonly attempt: number },
): Promise<void> {
  client.signal?.throwIfAborted();
  if (error instanceof BackboneError) throw error;
  if (attempt === 0) return;
  if (attempt >= maxAttempts) throw unreachable(client, name, causeOf(error), error);
  const wanted = error instanceof Busy ? error.retryAfterMs : undefined;
  const pauseMs = Math.min(longestPauseMs, wanted ?? client.pauseMs * 2 ** (attempt - 1));
  await sleep(pauseMs, undefined, client.signal && { signal: client.signal });
}

async function request(
  { settings, signal }: HubClient,
  path: string,
  options: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const stall = AbortSignal.timeout(settings.stallMs);
  const { token, endpoint } = settings;
  return fetchThroughProxy(`${endpoint}${path}`, {
    ...(options.method === undefined ? {} : { method: options.method, redirect: 'manual' as const }),
    headers: {
      'user-agent': 'agentjet',
      'accept-encoding': 'identity', // a range of a compressed file is not a range of the file
      ...options.headers,
      // Send the token. Fetch removes it on a redirect to another host.
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    signal:
      options.method === undefined ? (signal ?? null) : signal === undefined ? stall : AbortSignal.any([signal, stall]),
  });
}

function contentPath({ id, revision, kind }: ModelName, file: string): string {
  return `${kind === undefined ? '' : `/${kind}s`}/${id}/resolve/${encodeURIComponent(revision)}/${file.split('/').map(encodeURIComponent).join('/')}`;
}

/** Reads an entry that describes its file completely. Undefined for a hub that lists only names. */
function toFile(sibling: unknown): HubFile | undefined {
  if (!isJsonObject(sibling)) return undefined;
  const { rfilename: path, lfs, blobId } = sibling;
  const [sha256, lfsSize] = isJsonObject(lfs) ? [lfs['sha256'] ?? lfs['oid'], lfs['size']] : [undefined, undefined];
  const [etag, size] = [sha256 ?? blobId, lfsSize ?? sibling['size']];
  if (typeof path !== 'string' || typeof size !== 'number' || typeof etag !== 'string') return undefined;
  return { path, size, etag: etag.replace(/^sha256:/, '') };
}

/** Asks for one file of a hub that lists only names. Undefined for an entry that is not a file. */
async function askForFile(client: HubClient, name: ModelName, sibling: unknown): Promise<HubFile | undefined> {
  const path = isJsonObject(sibling) ? sibling['rfilename'] : undefined;
  if (typeof path !== 'string') return undefined;
  const { headers } = await askAgain(client, name, async () => {
    const response = await request(client, contentPath(name, path), { method: 'HEAD' });
    return response.status >= 300 && response.status < 400
      ? new Response(null, { headers: response.headers })
      : response;
  });
  const etag = (headers.get('x-linked-etag') ?? headers.get('etag') ?? '').replace(/^W\//, '').replaceAll('"', '');
  const size = Number(headers.get('x-linked-size') ?? headers.get('content-length') ?? Number.NaN);
  return /^\w[\w-]*$/.test(etag) && Number.isSafeInteger(size) ? { path, size, etag } : undefined;
}

/** A refusal that may be temporary. */
class Busy extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(response: Response) {
    super(`it answers with status ${response.status}`);
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    this.retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
  }
}

/** Throws the error for a status other than 2xx. */
async function refuse({ settings }: HubClient, name: ModelName, response: Response): Promise<never> {
  const { status, headers } = response;
  await response.body?.cancel();
  if (status === 429 || status >= 500 || status === 408) throw new Busy(response);
  const reason = headers.get('x-error-code') ?? '';
  const [model, noun] = [showModelName(name), nounOf(name)];
  const page = `${settings.endpoint}/${name.kind === undefined ? '' : `${name.kind}s/`}${name.id}`;
  if (reason === 'GatedRepo' || status === 403) {
    const how =
      settings.token === undefined
        ? 'Accept its terms there, make a token, and set HF_TOKEN (or run `hf auth login`).'
        : 'Accept its terms there with the account of your token (HF_TOKEN), and check that the token may read gated repositories.';
    throw new BackboneError('model_gated', `${model} is open only to those who accepted its terms: ${page}. ${how}`);
  }
  if (status === 401 && settings.token !== undefined)
    throw new BackboneError(
      'model_not_found',
      `${page} does not accept the token, or there is no such ${noun}. Check the name and HF_TOKEN.`,
    );
  if (status === 401 || status === 404) {
    const what =
      reason === 'RevisionNotFound'
        ? `has no revision ${name.revision}`
        : reason === 'EntryNotFound'
          ? 'lacks a file that it lists'
          : '';
    throw new BackboneError(
      reason === 'RevisionNotFound' && name.kind === 'dataset' ? 'revision_not_found' : 'model_not_found',
      what === ''
        ? `There is no ${noun} ${name.id} at ${settings.endpoint}, or it is private. Check the name; for a private ${noun} set HF_TOKEN.`
        : `${name.id} ${what} at ${settings.endpoint}. Look at ${page}/tree/main.`,
    );
  }
  throw new BackboneError('hub_unreachable', `${settings.endpoint} refused ${model} with status ${status}.`);
}

function unreachable({ settings }: HubClient, name: ModelName, reason: string, cause?: unknown): BackboneError {
  return new BackboneError(
    'hub_unreachable',
    `Cannot get ${showModelName(name)} from ${settings.endpoint}: ${reason}. The downloaded bytes are kept, and the same command continues from there. Check the network, name a mirror with HF_ENDPOINT, or ${name.kind === 'dataset' ? 'name a folder as dataset_path' : 'set model.path to a folder'}.`,
    cause === undefined ? {} : { cause },
  );
}

/** Returns the reason of a failed request, which `fetch` puts into the cause of its error. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && cause.name === 'TimeoutError') return 'it does not answer';
  const code = codeOfError(cause) ?? '';
  const words: Readonly<Record<string, string>> = {
    ENOTFOUND: 'its name cannot be resolved',
    EAI_AGAIN: 'its name cannot be resolved',
    ECONNREFUSED: 'it refuses the connection',
    ECONNRESET: 'the connection breaks',
    UND_ERR_SOCKET: 'the connection breaks',
    UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
    ETIMEDOUT: 'it does not answer',
  };
  return words[code] ?? toErrorMessage(cause);
}
