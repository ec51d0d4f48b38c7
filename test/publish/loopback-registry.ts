import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A registry on this machine that answers `npm publish` and `npm install`. It keeps packages in memory, refuses a
 * version that it already has, and redirects npm to `upstream` for packages that it does not have.
 */

export type LoopbackRegistry = {
  readonly url: string;
  /** The name and version of each package, in the order in which they came. */
  readonly published: readonly string[];
  readonly close: () => Promise<void>;
};

type Manifest = { readonly [key: string]: unknown };
type Package = { readonly versions: Map<string, Manifest>; readonly tarballs: Map<string, Buffer> };
/** The body of `npm publish`: one version, and its tarball in base64. */
type Publication = {
  readonly name: string;
  readonly versions: Readonly<Record<string, Manifest>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
};

export async function startLoopbackRegistry({ upstream }: { readonly upstream: string }): Promise<LoopbackRegistry> {
  const packages = new Map<string, Package>();
  const published: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => sendJson(response, 500, { error: String(error) }));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, name = '', file] = /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+))?$/.exec(decodeURIComponent(pathname)) ?? [];
    const found = packages.get(name);
    if (request.method === 'PUT') return take(JSON.parse(await readText(request)) as Publication, response);
    if (found === undefined) {
      response.writeHead(302, { location: new URL(pathname.slice(1), upstream).href }).end();
      return;
    }
    const tarball = file === undefined ? undefined : found.tarballs.get(file);
    if (tarball !== undefined) response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(tarball);
    else if (file === undefined) sendJson(response, 200, toPackument(name, found));
    else sendJson(response, 404, { error: 'not found' });
  }

  function take({ name, versions, _attachments: attachments }: Publication, response: ServerResponse): void {
    const { versions: known, tarballs } = packages.get(name) ?? { versions: new Map(), tarballs: new Map() };
    const [first] = Object.entries(versions);
    const [attachment] = Object.values(attachments);
    if (first === undefined || attachment === undefined)
      return sendJson(response, 400, { error: 'a publication has one version and its tarball' });
    const [version, manifest] = first;
    if (known.has(version))
      return sendJson(response, 403, { error: `cannot publish over the previously published version ${version}` });
    const file = `${name.replace(/^.*\//, '')}-${version}.tgz`;
    const tarball = Buffer.from(attachment.data, 'base64');
    const dist = {
      tarball: `${urlOf()}${name}/-/${file}`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
      shasum: createHash('sha1').update(tarball).digest('hex'),
    };
    known.set(version, { ...manifest, dist });
    tarballs.set(file, tarball);
    packages.set(name, { versions: known, tarballs });
    published.push(`${name}@${version}`);
    sendJson(response, 201, { ok: true });
  }

  const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: urlOf(),
    published,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function toPackument(name: string, { versions }: Package): Manifest {
  return {
    name,
    'dist-tags': { latest: [...versions.keys()].at(-1) },
    versions: Object.fromEntries(versions),
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
