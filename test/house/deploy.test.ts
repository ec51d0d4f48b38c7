import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { nodeFlags } from '../bench/swarm/server-process.js';
import { findCommand } from './find-command.js';

const unit = path.resolve(import.meta.dirname, '../../deploy/agentjet-swarm.service');
const dir = mkdtempSync(path.join(tmpdir(), 'deploy-'));
afterAll(() => rmSync(dir, { recursive: true }));

const verify = (file: string) => spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

it.skipIf(!hasSystemd)('systemd understands every line of the unit of a server', () => {
  const here = readFileSync(unit, 'utf8').replace('/srv/agentjet/node_modules/.bin/ajet', process.execPath);
  const copy = path.join(dir, 'agentjet-swarm.service');
  writeFileSync(copy, here);
  expect(verify(copy)).toMatchObject({ status: 0, stderr: '' });
  const wrong = path.join(dir, 'wrong.service');
  writeFileSync(wrong, here.replace('RestartSec=', 'RestartSeconds='));
  expect(verify(wrong).stderr).toContain('RestartSeconds');
});

it('the unit starts a server with flags that it has', () => {
  const [, started = ''] = /^ExecStart=(.*)$/m.exec(readFileSync(unit, 'utf8')) ?? [];
  const [, names = '', given = ''] = /\bajet ((?:[a-z]+ )+)(.*)$/.exec(started) ?? [];
  const command = findCommand(names.trim().split(' '));
  expect(given).toContain('--conf');
  // The unit must not use `npx`, which would end before the server has finished its work.
  expect(started).toMatch(/^\/srv\/agentjet\/node_modules\/\.bin\/ajet /);
  expect(readFileSync(unit, 'utf8')).toMatch(`Environment=NODE_OPTIONS=${nodeFlags.join(' ')}\n`);
  for (const [flag] of given.matchAll(/--[\w-]+/g)) expect(command?.options.map(({ long }) => long)).toContain(flag);
});

type Volume = { readonly name: string };
type Pod = {
  readonly automountServiceAccountToken: boolean;
  readonly containers: readonly {
    readonly command?: readonly string[];
    readonly args: readonly string[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    readonly securityContext: { readonly allowPrivilegeEscalation: boolean };
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
  }[];
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly volumes: readonly Volume[];
};
type Manifest = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template?: { readonly spec: Pod };
    readonly volumeClaimTemplates?: readonly { readonly metadata: Volume }[];
    readonly ports?: readonly { readonly port: number }[];
  };
};

const readManifests = (name: string): readonly Manifest[] => {
  const file = path.resolve(import.meta.dirname, '../../deploy/kubernetes', name);
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Manifest);
};

describe('the manifests for Kubernetes', () => {
  const server = readManifests('server.yaml');
  const workers = readManifests('workers.yaml');
  const podOf = (manifests: readonly Manifest[]): readonly Pod[] =>
    manifests.flatMap(({ spec }) => (spec.template === undefined ? [] : [spec.template.spec]));

  it('have pods without rights, whose mounts all exist', () => {
    for (const { spec } of [...server, ...workers]) {
      const pod = spec.template?.spec;
      if (pod === undefined) continue;
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext.runAsNonRoot).toBe(true);
      const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      const volumes = [...pod.volumes.map(({ name }) => name), ...claims];
      for (const { volumeMounts, securityContext } of pod.containers) {
        expect(securityContext.allowPrivilegeEscalation).toBe(false);
        expect(volumeMounts.map(({ name }) => name).filter((name) => !volumes.includes(name))).toEqual([]);
      }
    }
  });

  it('use flags that the commands have, and the key as a file of a Secret', () => {
    for (const [manifests, name] of [
      [server, 'serve'],
      [workers, 'run'],
    ] as const) {
      const known = findCommand(['swarm', name])?.options.map(({ long }) => long);
      const args = podOf(manifests).flatMap((pod) => pod.containers.flatMap((container) => container.args));
      const flags = args.flatMap((arg) => /^--[\w-]+/.exec(arg)?.[0] ?? []);
      expect(flags).toHaveLength(5);
      for (const flag of flags) expect(known).toContain(flag);
    }
    const [worker] = podOf(workers);
    const [container] = worker?.containers ?? [];
    expect(container?.args).toContain('--server=https://agentjet-swarm:8700');
    expect(container?.args).toContain('--key-file=/key/key');
    expect(container?.command).toEqual(['node', 'packages/cli/dist/main.js', 'swarm', 'run']);
    expect(JSON.stringify(worker?.volumes)).toContain('"secretName":"agentjet-worker"');
    expect(container?.env?.some(({ name }) => /KEY/.test(name))).toBe(false);
    expect(server.find(({ kind }) => kind === 'Service')).toMatchObject({
      metadata: { name: 'agentjet-swarm' },
      spec: { ports: [{ port: 8700 }], publishNotReadyAddresses: true },
    });
  });
});
