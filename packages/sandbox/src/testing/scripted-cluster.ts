import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { V1NetworkPolicy, V1Pod } from '@kubernetes/client-node';
import { WebSocketServer, type WebSocket } from 'ws';
import { connectCluster, type BoxCluster, type ClusterSettings } from '../kubernetes/cluster.js';
import { serveExec } from './serve-exec.js';

/**
 * A replacement for an API server, for tests without a cluster. It keeps pods and network policies, starts each pod at
 * once, and runs the commands of `exec` on this machine.
 */
export type ScriptedCluster = {
  readonly cluster: BoxCluster;
  /** The calls so far, such as `GET pods/ajet-box-1`. */
  readonly calls: readonly string[];
  readonly pods: Map<string, V1Pod>;
  readonly policies: Map<string, V1NetworkPolicy>;
  /** Runs before the calls that match. Returns true if it has answered. */
  readonly on: (call: RegExp, answer: Answer) => void;
  /** Runs when a command of `exec` was accepted. Returns true if it takes the connection. */
  readonly onExec: (take: (socket: WebSocket) => boolean) => void;
  /** Changes the status of pods that are read. */
  readonly withStatus: (status: object) => void;
  readonly close: () => Promise<void>;
};

type Answer = (response: ServerResponse) => boolean;

const settings: ClusterSettings = { namespace: 'boxes', image: null, pullSecret: null, toolsImage: 'tools:1' };

export const runningStatus = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
  initContainerStatuses: [{ name: 'image', state: { terminated: { exitCode: 0, message: '0:0\n' } } }],
  containerStatuses: [{ name: 'box', state: { running: {} } }],
};

/** Starts the server. Its files are in a new folder below `parent`. */
export async function scriptCluster(parent: string, changes: Partial<ClusterSettings> = {}): Promise<ScriptedCluster> {
  const folder = mkdtempSync(path.join(parent, 'cluster-'));
  const state = new ClusterState();
  const server = createServer((request, response) => void state.answer(request, response));
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
  server.on('upgrade', (request, socket, head) => {
    state.calls.push(`EXEC ${callOf(request).name}`);
    sockets.handleUpgrade(request, socket, head, (opened) => {
      if (!state.takeExec(opened)) runHere(opened, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const file = path.join(folder, 'config');
  writeFileSync(file, JSON.stringify(kubeConfig(`http://127.0.0.1:${port}`)));
  const cluster = await connectTo(file, { ...settings, toolsFolder: writeTools(folder), ...changes });
  return {
    cluster,
    calls: state.calls,
    pods: state.pods,
    policies: state.policies,
    on: (call, answer) => state.answers.push({ call, answer }),
    onExec: (take) => (state.takeExec = take),
    withStatus: (status) => (state.status = status),
    close: async () => {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function connectTo(file: string, given: ClusterSettings): Promise<BoxCluster> {
  const before = process.env['KUBECONFIG'];
  process.env['KUBECONFIG'] = file;
  try {
    return await connectCluster(given);
  } finally {
    if (before === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = before;
  }
}

const kubeConfig = (server: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});

const tools = `#!/bin/sh
case $1 in
--list) echo nc;;
sleep) exit 0;;
nc)
  lost=$(cat "$0-lost" 2>/dev/null || echo 0)
  if [ "$lost" -gt 0 ]; then echo $((lost - 1)) > "$0-lost"; exit 1; fi
  exec bash -c 'exec 3<>/dev/tcp/$0/$1' "$4" "$5";;
*) exec "$@";;
esac
`;

/** The programs of this machine take the place of busybox. The file `busybox-lost` says how many first connections fail. */
function writeTools(folder: string): string {
  const program = path.join(folder, 'busybox');
  writeFileSync(program, tools);
  chmodSync(program, 0o755);
  symlinkSync('/bin/sh', path.join(folder, 'sh'));
  return folder;
}

class ClusterState {
  readonly pods = new Map<string, V1Pod>();
  readonly policies = new Map<string, V1NetworkPolicy>();
  readonly calls: string[] = [];
  readonly answers: { readonly call: RegExp; readonly answer: Answer }[] = [];
  takeExec: (socket: WebSocket) => boolean = () => false;
  status: object = runningStatus;
  #count = 0;

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { kind, name, isDry } = callOf(request);
    const call = `${request.method} ${kind}${name === '' ? '' : `/${name}`}${isDry ? '?dry' : ''}`;
    this.calls.push(call);
    const body = await text(request);
    if (this.answers.some((each) => each.call.test(call) && each.answer(response))) return;
    const objects = (kind === 'pods' ? this.pods : this.policies) as Map<string, V1Pod>;
    if (request.method === 'POST' || request.method === 'PUT') {
      const object = JSON.parse(body) as V1Pod;
      const key = object.metadata?.name ?? '';
      if (request.method === 'POST' && objects.has(key)) return failWith(response, 409, 'already exists');
      object.metadata = { ...object.metadata, uid: `uid-${++this.#count}` };
      if (!isDry) objects.set(key, object);
      return say(response, 200, object);
    }
    if (name === '') return say(response, 200, { items: [...objects.values()].map((each) => this.#seen(kind, each)) });
    const object = objects.get(name);
    if (object === undefined) return failWith(response, 404, `${kind} "${name}" not found`);
    if (request.method === 'DELETE') objects.delete(name);
    say(response, 200, this.#seen(kind, object));
  }

  #seen(kind: string, object: V1Pod): object {
    return kind === 'pods' ? { ...object, status: object.status ?? this.status } : object;
  }
}

function callOf({ url = '' }: IncomingMessage) {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const [, kind = '', name = ''] = /\/namespaces\/boxes\/(\w+)(?:\/([^/]+))?/.exec(pathname) ?? [];
  return { kind, name, isDry: searchParams.get('dryRun') === 'All', command: searchParams.getAll('command') };
}

function say(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function failWith(response: ServerResponse, code: number, message: string): void {
  say(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code });
}

/**
 * Runs a command on this machine when its script has arrived. The script that ends all processes of a box is answered
 * and never run, because it would end those of this machine.
 */
function runHere(socket: WebSocket, request: IncomingMessage): void {
  const [program = '', ...args] = callOf(request).command;
  let held = Buffer.alloc(0);
  const begin = (data: Buffer): void => {
    held = Buffer.concat([held, data.subarray(1)]);
    const at = held.indexOf('\n');
    const length = Number(held.subarray(0, at).toString());
    if (at < 0 || held.length < at + 1 + length) return;
    socket.off('message', begin);
    const isDangerous = held.subarray(at + 1, at + 1 + length).includes('kill -9 -1 ');
    const child = isDangerous ? spawn('true') : spawn(program, args, { detached: true });
    serveExec(socket, child);
    child.stdin.write(held);
  };
  socket.on('message', begin);
}
