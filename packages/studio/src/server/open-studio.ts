import { randomBytes } from 'node:crypto';
import { rmSync, statSync } from 'node:fs';
import { isIP, type AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { ConfigError } from '@agentjet/core';
import { closeServer, toListenError } from '@agentjet/core/servers';
import { serve, type ServerType } from '@hono/node-server';
import type { TalkServer } from '../remote/chat.js';
import type { Remote } from '../remote/read-remote.js';
import { StudioRuns } from '../runs/studio-runs.js';
import { readPageFiles } from './page-files.js';
import { writeTokenFile } from './token-file.js';
import { createStudioApp } from './studio-app.js';

export type StudioOptions = {
  /** Default: 127.0.0.1, which only this machine can reach. */
  readonly host?: string;
  /** Default: 0, which picks a free one. */
  readonly port?: number;
  /** Default: random. */
  readonly token?: string;
  /** A swarm server whose state the page shows. */
  readonly swarm?: Remote;
  /** Model servers that the page can speak to. */
  readonly chats?: readonly TalkServer[];
  /** The folder for the file with the token. Default: below the user's cache folder. */
  readonly tokenDir?: string;
};

export type OpenedStudio = {
  /** The address with the token. Anyone who has it can read all runs below the folder. */
  readonly url: string;
  readonly port: number;
  readonly host: string;
  /** A file that only this user can read, with address and token. Undefined if it could not be written. */
  readonly tokenFile: string | undefined;
  close(): Promise<void>;
};

/** Serves the page over all runs below a folder until it is closed. It only reads. Throws ConfigError. */
export async function openStudio(folder: string, options: StudioOptions = {}): Promise<OpenedStudio> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new ConfigError('no_folder', `${folder} is not a folder. Name a folder that contains runs, or a run.`);
  const { host = '127.0.0.1', port = 0, token = randomBytes(24).toString('base64url'), swarm, chats } = options;
  const ended = new AbortController();
  const shown = isIP(host) === 6 ? `[${host}]` : host;
  const server = await listen({
    host,
    port,
    fetchWith: (actual) =>
      createStudioApp({
        token,
        cookie: `ajet_studio_${actual}`,
        hosts: [shown.toLowerCase(), ...(isAny(host) ? [hostname().toLowerCase()] : [])],
        allowsAddresses: isAny(host),
        page: readPageFiles(),
        runs: new StudioRuns(folder),
        signal: ended.signal,
        ...(swarm && { swarm }),
        ...(chats && { chats }),
      }).fetch,
  });
  const { port: actual } = server.address() as AddressInfo;
  const origin = `http://${isAny(host) ? '127.0.0.1' : shown}:${actual}`;
  const tokenFile = writeTokenFile({ origin, token, port: actual, folder }, options.tokenDir);
  return {
    url: `${origin}/?token=${token}`,
    port: actual,
    host,
    tokenFile,
    close: async () => {
      ended.abort();
      if (tokenFile !== undefined) rmSync(tokenFile, { force: true });
      await closeServer(server);
    },
  };
}

const isAny = (host: string): boolean => host === '0.0.0.0' || host === '::';

type Listening = {
  readonly host: string;
  readonly port: number;
  readonly fetchWith: (port: number) => (request: Request) => Response | Promise<Response>;
};

function listen({ host, port, fetchWith }: Listening): Promise<ServerType> {
  return new Promise((resolve, reject) => {
    let answer: ((request: Request) => Response | Promise<Response>) | undefined;
    const fetch = (request: Request): Response | Promise<Response> =>
      answer?.(request) ?? new Response(null, { status: 503 });
    const server = serve({ fetch, hostname: host, port }, ({ port: actual }) => {
      try {
        answer = fetchWith(actual);
        resolve(server);
      } catch (thrown) {
        server.close();
        reject(thrown as Error);
      }
    });
    server.once('error', (thrown) => reject(toListenError(thrown, `${host}:${port}`)));
  });
}
