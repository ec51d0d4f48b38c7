import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { freePort } from '../../swarm/free-port.js';

/** A real API server and controller manager, built from the Go module proxy, over Debian's etcd. */

const here = import.meta.dirname;
const cache = path.join(homedir(), '.cache', 'agentjet-cluster');
const buildMinutes = 60;

export type Programs = { readonly cluster: string; readonly etcd: string; readonly busybox: string };

/** Builds and downloads what is missing. Returns the reason if that is impossible. */
export function preparePrograms(): Programs | string {
  if (process.platform !== 'linux') return 'the cluster runs on Linux only';
  mkdirSync(cache, { recursive: true });
  const sources = ['go.sum', 'main.go'].map((file) => readFileSync(path.join(here, file)));
  const cluster = path.join(
    cache,
    `cluster-${createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 12)}`,
  );
  if (!existsSync(cluster)) {
    const go = spawnSync('go', ['build', '-ldflags=-s -w', '-o', cluster, '.'], {
      cwd: here,
      encoding: 'utf8',
      timeout: buildMinutes * 60_000,
    });
    if (go.status !== 0)
      return `the API server cannot be built: ${go.stderr?.trim().split('\n').at(-1) ?? go.error?.message}`;
  }
  const [etcd, busybox] = [path.join(cache, 'usr/bin/etcd'), path.join(cache, 'bin/busybox')];
  if (!existsSync(etcd) || !existsSync(busybox)) {
    const script =
      'apt-get download etcd-server busybox-static && for file in *.deb; do dpkg -x "$file" .; done && rm *.deb';
    const made = spawnSync('sh', ['-c', script], { cwd: cache, encoding: 'utf8' });
    if (made.status !== 0) return `etcd cannot be downloaded: ${made.stderr.trim().split('\n').at(-1)}`;
  }
  return { cluster, etcd, busybox };
}

export type Cluster = {
  readonly admin: KubeConfig;
  readonly host: string;
  readonly port: number;
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly version: string;
  /** Writes a configuration of kubectl for a token. */
  readonly writeConfig: (name: string, token: string, port: number) => string;
  readonly stop: () => Promise<void>;
};

const adminToken = 'admin-token';

export async function startCluster({ cluster, etcd }: Programs): Promise<Cluster> {
  const folder = mkdtempSync(path.join(tmpdir(), 'cluster-'));
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const children: ChildProcess[] = [];
  const run = (name: string, program: string, args: readonly string[]): void => {
    const log = openSync(path.join(folder, `${name}.log`), 'w');
    children.push(spawn(program, args, { stdio: ['ignore', log, log], cwd: folder }));
  };
  const stop = async (): Promise<void> => {
    for (const child of children) child.kill('SIGKILL');
    await sleep(500);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    execFileSync('openssl', ['genrsa', '-out', path.join(folder, 'sa.key'), '2048'], { stdio: 'ignore' });
    writeFileSync(path.join(folder, 'tokens.csv'), `${adminToken},admin,1,"system:masters"\n`);
    run('etcd', etcd, [
      '--data-dir=etcd',
      '--unsafe-no-fsync',
      `--listen-client-urls=http://127.0.0.1:${client}`,
      `--advertise-client-urls=http://127.0.0.1:${client}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-cluster=default=http://127.0.0.1:${peer}`,
    ]);
    run('apiserver', cluster, [
      'apiserver',
      `--etcd-servers=http://127.0.0.1:${client}`,
      '--cert-dir=certs',
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--service-account-key-file=sa.key',
      '--service-account-signing-key-file=sa.key',
      '--service-account-issuer=https://cluster.test',
      '--token-auth-file=tokens.csv',
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--kubelet-preferred-address-types=InternalIP',
    ]);
    const writeConfig = (name: string, token: string, at: number): string => {
      const file = path.join(folder, `${name}.conf`);
      writeFileSync(file, JSON.stringify(kubeConfig(token, at)));
      return file;
    };
    const file = writeConfig('admin', adminToken, port);
    const admin = new KubeConfig();
    admin.loadFromFile(file);
    await waitUntilReady(port, folder);
    run('manager', cluster, [
      'manager',
      `--kubeconfig=${file}`,
      '--controllers=garbage-collector-controller,pod-garbage-collector-controller,serviceaccount-controller',
      '--use-service-account-credentials=false',
      '--leader-elect=false',
      '--secure-port=0',
    ]);
    const [cert, key] = ['crt', 'key'].map((end) => readFileSync(path.join(folder, 'certs', `apiserver.${end}`)));
    if (cert === undefined || key === undefined) throw new Error('The API server has no certificate.');
    return { admin, host: '127.0.0.1', port, cert, key, version: readVersion(), writeConfig, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const kubeConfig = (token: string, port: number) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
  users: [{ name: 'u', user: { token } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'boxes' } }],
  'current-context': 'x',
});

/** The module of which the server was built. A build outside of its repository does not know its version. */
function readVersion(): string {
  const [, version = ''] = /k8s\.io\/kubernetes (v[\d.]+)/.exec(readFileSync(path.join(here, 'go.mod'), 'utf8')) ?? [];
  return version;
}

async function waitUntilReady(port: number, folder: string): Promise<void> {
  const ask = (where: string): string =>
    spawnSync(
      'curl',
      ['-sk', '-m', '5', '-H', `Authorization: Bearer ${adminToken}`, `https://127.0.0.1:${port}${where}`],
      { encoding: 'utf8' },
    ).stdout;
  for (let tries = 0; tries < 120; tries++) {
    if (ask('/readyz') === 'ok') return;
    await sleep(1000);
  }
  throw new Error(
    `The API server is not ready: ${readFileSync(path.join(folder, 'apiserver.log'), 'utf8').slice(-1000)}`,
  );
}
