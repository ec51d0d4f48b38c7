import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import path from 'node:path';

/**
 * A model hub on this machine, over HTTP. It has the API of the real hub and supports ranges of content. It can break
 * connections and refuse requests.
 */

export type LoopbackModel = {
  /** Default: a model. */
  readonly kind?: 'dataset';
  /** The name as `org/name`. */
  readonly id: string;
  /** The branch of the commit. Default: `main`. */
  readonly branch?: string;
  /** The content of each file, by path in the repository. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** A token that is needed to download content. */
  readonly gatedBy?: string;
  /** A token without which the repository is not visible. */
  readonly privateTo?: string;
  /** Another hub that serves the content. */
  readonly contentAt?: string;
};

export type LoopbackHub = {
  readonly endpoint: string;
  /** The line `GET /path bytes=5-` of every request, in order. */
  readonly requests: readonly string[];
  /** The header `authorization` of every request. */
  readonly authorizations: readonly (string | undefined)[];
  /** The number of content bytes sent. */
  readonly sentBytes: () => number;
  /**
   * How many bytes of the n-th content request (0, 1, ...) are sent before the connection breaks. Infinity means all.
   */
  cutAfter: (contentRequest: number, size: number) => number;
  /** Changes the content on its way. */
  isTampering: boolean;
  /** Sends the whole file even if a range is requested. */
  ignoresRanges: boolean;
  /** Lists only names, without sizes and checksums. */
  listsNamesAlone: boolean;
  /** Statuses for the next requests, before any other answer. */
  readonly refusals: number[];
  /** Adds a model, or a new commit of it. */
  put(model: LoopbackModel): void;
  close(): Promise<void>;
};

type Commit = LoopbackModel & { readonly commit: string };

const largeFile = /\.(safetensors|parquet)$/;

/** Reads the files of a folder, to be served as a model. */
export async function readFolder(dir: string): Promise<Readonly<Record<string, Uint8Array>>> {
  const names = await readdir(dir);
  const contents = await Promise.all(names.map((name) => readFile(path.join(dir, name))));
  return Object.fromEntries(names.map((name, index) => [name, contents[index] ?? new Uint8Array()]));
}

export async function startLoopbackHub(...models: readonly LoopbackModel[]): Promise<LoopbackHub> {
  const state = new HubState();
  const server = createServer((request, response) => state.answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const hub = Object.assign(state, {
    endpoint: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  for (const model of models) hub.put(model);
  return hub;
}

class HubState {
  readonly requests: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  readonly refusals: number[] = [];
  cutAfter: (contentRequest: number, size: number) => number = () => Number.POSITIVE_INFINITY;
  isTampering = false;
  ignoresRanges = false;
  listsNamesAlone = false;
  #sent = 0;
  #contentRequests = 0;
  readonly #commits: Commit[] = [];

  sentBytes = (): number => this.#sent;

  put(model: LoopbackModel): void {
    const hash = createHash('sha1').update(JSON.stringify([this.#commits.length, model.id]));
    this.#commits.unshift({ ...model, commit: hash.digest('hex') });
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? '/', 'http://hub');
    this.requests.push([request.method, pathname, request.headers.range].filter(Boolean).join(' '));
    this.authorizations.push(request.headers.authorization);
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return void response.writeHead(refusal, { 'retry-after': '0' }).end();
    const info = /^\/api\/(model|dataset)s\/([^/]+\/[^/]+)\/revision\/([^/]+)$/.exec(pathname);
    const content = /^\/(?:(dataset)s\/)?([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(pathname);
    const [, kind, id = '', revision = '', file = ''] = info ?? content ?? [];
    const isShown = ({ privateTo }: Commit): boolean =>
      privateTo === undefined || request.headers.authorization === `Bearer ${privateTo}`;
    const known = this.#commits.filter(
      (commit) => commit.id === id && (commit.kind ?? 'model') === (kind ?? 'model') && isShown(commit),
    );
    if (known.length === 0) return void response.writeHead(401, { 'x-error-code': 'RepoNotFound' }).end();
    const commit = known.find(
      (one) => one.commit === revision || (one.branch ?? 'main') === decodeURIComponent(revision),
    );
    if (commit === undefined) return void response.writeHead(404, { 'x-error-code': 'RevisionNotFound' }).end();
    if (info !== null) return void response.end(JSON.stringify(this.#describe(commit)));
    if (commit.contentAt !== undefined)
      return void response.writeHead(302, { location: `${commit.contentAt}${pathname}` }).end();
    this.#sendContent({ commit, file: decodeURIComponent(file), request, response });
  }

  #describe({ id, commit, files }: Commit): unknown {
    const siblings = Object.entries(files).map(([rfilename, content]) => {
      if (this.listsNamesAlone) return { rfilename };
      const lfs = { sha256: etagOf(rfilename, content), size: content.length, pointerSize: 134 };
      return { rfilename, size: content.length, ...(largeFile.test(rfilename) ? { lfs } : { blobId: lfs.sha256 }) };
    });
    return { id, modelId: id, sha: commit, siblings };
  }

  #sendContent(asked: {
    readonly commit: Commit;
    readonly file: string;
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
  }): void {
    const { commit, file, request, response } = asked;
    const content = commit.files[file];
    if (content === undefined) return void response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
    if (commit.gatedBy !== undefined && request.headers.authorization !== `Bearer ${commit.gatedBy}`)
      return void response
        .writeHead(request.headers.authorization === undefined ? 401 : 403, { 'x-error-code': 'GatedRepo' })
        .end();
    const start = this.ignoresRanges ? 0 : Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const etag = `"${etagOf(file, content)}"`;
    if (start >= content.length && start > 0) return void response.writeHead(416).end();
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      'content-length': content.length - start,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` } : {}),
    });
    if (request.method === 'HEAD') return void response.end();
    this.#send(response, content.subarray(start));
  }

  #send(response: ServerResponse, content: Uint8Array): void {
    const limit = this.cutAfter(this.#contentRequests++, content.length);
    const part = Buffer.from(content.subarray(0, limit));
    if (this.isTampering && part.length > 0) part[0] = (part[0] ?? 0) ^ 1;
    this.#sent += part.length;
    if (limit >= content.length) return void response.end(part);
    response.write(part, () => setImmediate(() => response.destroy()));
  }
}

function etagOf(file: string, content: Uint8Array): string {
  return largeFile.test(file)
    ? createHash('sha256').update(content).digest('hex')
    : createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}
