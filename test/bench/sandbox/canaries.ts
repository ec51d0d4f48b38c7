import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Things outside of the sandbox that an escape can look for. */
export type Canaries = {
  /** A folder of the machine, which also contains the folders of the sandboxes. */
  readonly folder: string;
  readonly file: string;
  /** The content of the file. */
  readonly word: string;
  /** Replaces the words in the code that cases.ts describes. */
  readonly fillIn: (code: string) => string;
  /** Whether the file is unchanged, nothing reached the servers, and no program left a file. */
  readonly areUnharmed: () => boolean;
  readonly close: () => Promise<void>;
};

export async function openCanaries(): Promise<Canaries> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ajet-bench-'));
  chmodSync(folder, 0o755); // an escape must not fail only because it runs as another user
  const [word, file, name] = [randomUUID(), path.join(folder, 'canary'), `ajet-${randomUUID()}`];
  writeFileSync(file, word);
  let isReached = false;
  const servers = [0, `\0${name}`].map((address) => {
    const server = createServer((socket) => {
      isReached = true;
      socket.end(word);
    });
    return typeof address === 'number' ? server.listen(address, '127.0.0.1') : server.listen({ path: address });
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))));
  const replaced: Readonly<Record<string, string>> = {
    CANARY_FILE: file,
    CANARY_PORT: String(portOf(servers[0])),
    CANARY_SOCKET: name,
    CANARY_PID: String(process.pid),
  };
  return {
    folder,
    file,
    word,
    fillIn: (code) => code.replaceAll(/CANARY_(FILE|PORT|SOCKET|PID)/g, (found) => replaced[found] ?? found),
    areUnharmed: () =>
      !isReached && readFileSync(file, 'utf8') === word && !['/', '/usr/bin', '/dev', '/tmp'].some(hasTrace),
    close: async () => {
      for (const server of servers) server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function hasTrace(folder: string): boolean {
  return existsSync(path.join(folder, 'ajet-was-here'));
}

function portOf(server: Server | undefined): number {
  const address = server?.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
