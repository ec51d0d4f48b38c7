import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { describeSelf, readBootId } from '@agentjet/core/processes';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { openBox, prepareImage, removeLeftBoxes } from '../box/box-host.js';
import { SandboxError } from '../code-runner.js';
import { packFile, packFolder, readOnlyFile } from '../box/tar.js';
import { failWith, runningStatus, scriptCluster, type ScriptedCluster } from '../testing/scripted-cluster.js';
import { checkCluster } from './check-cluster.js';
import type { ClusterSettings } from './cluster.js';

const folder = mkdtempSync(path.join(tmpdir(), 'pods-'));
const opened: ScriptedCluster[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = { image: 'i:1', networks: ['public'], lifeSeconds: 60 } as const;
const limits = { seconds: 10, outputCharacters: 1000 };
const shell = (script: string) => ['sh', '-c', script];

async function start(changes: Partial<ClusterSettings> = {}) {
  const scripted = await scriptCluster(folder, changes);
  opened.push(scripted);
  return scripted;
}

async function startBox() {
  const scripted = await start();
  return { ...scripted, box: await openBox(scripted.cluster, options) };
}

describe.skipIf(process.platform !== 'linux')('a box in a cluster', () => {
  it('is a pod without rights, with its limits, its deadline and its network', async () => {
    const { cluster, pods, policies, calls } = await start({ pullSecret: 'registry' });
    const box = await openBox(cluster, {
      ...options,
      cpus: 1.5,
      memoryMegabytes: 64,
      env: { KEY: 'secret' },
      labels: { 'org.agentjet.task': 't' },
    });
    const { metadata, spec } = pods.get(box.name) ?? {};
    expect(metadata?.labels).toMatchObject({ 'agentjet.org/box': box.name });
    expect(spec?.containers[0]?.command).toBeUndefined(); // the entry point of the image remains
    expect(metadata?.annotations?.['org.agentjet.task']).toBe('t');
    expect(spec).toMatchObject({
      restartPolicy: 'Never',
      activeDeadlineSeconds: 120,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      imagePullSecrets: [{ name: 'registry' }],
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          image: 'i:1',
          args: expect.arrayContaining([expect.stringContaining('sleep 60')]),
          resources: { limits: { cpu: '1.5', memory: '64Mi' } },
        },
      ],
    });
    for (const { securityContext, volumeMounts } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
      expect(securityContext?.privileged).toBe(false);
      expect(volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([cluster.settings.toolsFolder]);
    }
    expect(JSON.stringify([...pods.values()])).not.toContain('secret');
    expect(JSON.stringify(policies.get(box.name)?.spec?.egress)).toContain('169.254.0.0/16');
    expect(calls.indexOf('POST networkpolicies')).toBeLessThan(calls.indexOf('POST pods'));
    await box.remove();
    await box.remove();
    expect([pods.size, policies.size]).toEqual([0, 0]);
  });

  it('returns the output and the status of a command, with its input, variables and folder', async () => {
    const { box } = await startBox();
    const said = shell('echo out; echo err >&2; cat; echo "$A"; pwd; exit 3');
    const result = await box.exec(said, { ...limits, stdin: 'in\n', env: { A: "b 'c'" }, cwd: '/' });
    expect(result).toEqual({ status: 3, output: "out\nerr\nin\nb 'c'\n/\n", isOutOfTime: false, hasReported: true });
    const { output } = await box.exec(shell('seq 1 2000'), limits);
    expect(output).toMatch(/^1\n2\n[\d\n]*\[\d+ characters are left out\][\d\n]*1999\n2000\n$/);
    const large = 'x'.repeat(700_000);
    expect(await box.exec(['wc', '-c'], { ...limits, stdin: large })).toMatchObject({ output: '700000\n' });
    expect(await box.exec(shell('read -r a; echo $a'), { ...limits, stdin: 'first\nsecond\n' })).toMatchObject({
      output: 'first\n',
    });
  });

  it('keeps commands out of the addresses of requests', async () => {
    const { box, calls } = await startBox();
    await box.exec(shell('true'), { ...limits, env: { KEY: 'secret' } });
    expect(calls.join()).not.toContain('secret');
    expect(calls.at(-1)).toBe(`EXEC ${box.name}`);
  });

  it('ends a command that takes too long, and says so', async () => {
    const { box } = await startBox();
    expect(await box.exec(shell('echo first; exec sleep 7'), { ...limits, seconds: 0.3 })).toMatchObject({
      status: null,
      output: 'first\n',
      isOutOfTime: true,
    });
    expect(await box.exec(shell('sleep 0.5 & echo on'), limits)).toMatchObject({ status: 0, output: 'on\n' });
  });

  it('is lost if the connection breaks, never a command that failed', async () => {
    const { box, onExec } = await startBox();
    onExec((socket) => (socket.terminate(), true));
    await expect(box.exec(shell('true'), limits)).rejects.toThrow('the connection was closed (1006)');
    const failed = { status: 'Failure', reason: 'InternalError', message: 'container not found' };
    onExec((socket) => (socket.send(Buffer.concat([Buffer.from([3]), Buffer.from(JSON.stringify(failed))])), true));
    await expect(box.exec(shell('true'), limits)).rejects.toThrow(
      'kubernetes exec broke off: Error: container not found',
    );
    await expect(box.copyOut('/etc/hostname', (archive) => readOnlyFile(archive, 100))).rejects.toThrow(
      'cannot copy /etc/hostname out of a box: container not found',
    );
    await expect(box.copyIn(packFile('f', 'x'), '/tmp')).rejects.toThrow('cannot unpack an archive in /tmp');
    await expect(box.stop()).rejects.toThrow('container not found');
  });

  it('is lost if the connection breaks after the report and before the end of an archive', async () => {
    const { box, onExec } = await startBox();
    onExec((socket) => {
      socket.once('message', (data: Buffer) => {
        const mark = /(box-[0-9a-f-]+) ended/.exec(data.toString())?.[1];
        socket.send(Buffer.concat([Buffer.from([2]), Buffer.from(`${mark} ended 0\n`)]), () => socket.terminate());
      });
      return true;
    });
    await expect(box.copyOut('/etc/hostname', (archive) => readOnlyFile(archive, 100))).rejects.toThrow(SandboxError);
  });

  it('is lost if a command cannot run as its user', async () => {
    const { box } = await startBox();
    const as = (user: string | number) => box.exec(shell('true'), { ...limits, user });
    await expect(as('no-such-user')).rejects.toThrow('The image has no user no-such-user.');
    await expect(as(4_242_424)).rejects.toThrow('The tools of boxes have no setuidgid.');
  });

  it('is lost if a command outlives its connection', async () => {
    const { box, onExec } = await startBox();
    let execs = 0;
    onExec((socket) => {
      if (++execs > 1) return false;
      socket.once('message', (data: Buffer) => {
        const mark = /mark=(\S+)/.exec(data.toString())?.[1];
        socket.send(Buffer.concat([Buffer.from([2]), Buffer.from(`${mark} begins 4194300\n`)]));
      });
      return true;
    });
    await expect(box.exec(shell('true'), { ...limits, seconds: 0.2 })).rejects.toThrow(
      'kubernetes cannot end a command',
    );
  });

  it('is lost if the pod has ended in the middle of a command', async () => {
    const { box, withStatus } = await startBox();
    const suicide = shell('kill -9 $PPID; sleep 0.1');
    const dead = { containerStatuses: [], phase: 'Failed' };
    expect(await box.exec(suicide, limits).catch(String)).toContain('the command got SIGKILL');
    withStatus(dead);
    expect(await box.isRunning()).toBe(false);
    withStatus({ ...runningStatus, conditions: [{ type: 'Ready', status: 'False' }] });
    expect(await box.isRunning()).toBe(false);
    await expect(box.restart()).rejects.toThrow('is not running');
  });

  it('unpacks an archive and packs a file, a folder, or nothing', async () => {
    const { box } = await startBox();
    const target = mkdtempSync(path.join(folder, 'target-'));
    const bytes = Buffer.alloc(900_000, 'ab\n');
    const from = mkdtempSync(path.join(folder, 'from-'));
    writeFileSync(path.join(from, 'large'), bytes);
    await box.copyIn(packFolder(from, 'x'), target);
    expect(readFileSync(path.join(target, 'x', 'large')).equals(bytes)).toBe(true);
    const read = (name: string) => box.copyOut(`${target}/${name}`, (archive) => readOnlyFile(archive, 1_000_000));
    expect((await read('x/large'))?.equals(bytes)).toBe(true);
    expect(await read('y')).toBe(null);
    await expect(box.copyOut(`${target}/x/large`, (archive) => readOnlyFile(archive, 10))).rejects.toThrow(
      'more than 10',
    );
    await expect(box.copyIn(packFile('f', 'x'), '/none')).rejects.toThrow('cannot unpack an archive in /none');
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from('x');
        throw new Error('broken source');
      })(),
    );
    await expect(box.copyIn(broken, target)).rejects.toThrow('broken source');
  });

  it('forwards connections of a loopback address inside of it', async () => {
    const { box } = await startBox();
    const port = await box.forward((stream) => stream.pipe(stream));
    const say = `exec 3<>/dev/tcp/127.0.0.1/${port.port}; echo hello >&3; head -n 1 <&3`;
    expect(await box.exec(['bash', '-c', say], limits)).toMatchObject({ output: 'hello\n' });
    port.close();
  });

  it('is lost without a network if the cluster does not enforce its policy', async () => {
    const { cluster, pods, policies } = await start();
    const offline = { ...options, networks: ['none'] } as const;
    const server = new URL(cluster.config.getCurrentCluster()?.server ?? '');
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    try {
      vi.stubEnv('KUBERNETES_SERVICE_PORT', server.port);
      await expect(openBox(cluster, offline)).rejects.toThrow('although its network policy allows nothing');
      expect(pods.size).toBe(0);
      writeFileSync(path.join(cluster.settings.toolsFolder ?? '', 'busybox-lost'), '2'); // a network loses connections
      await expect(openBox(cluster, offline)).rejects.toThrow('although its network policy allows nothing');
      vi.stubEnv('KUBERNETES_SERVICE_PORT', '1');
      const box = await openBox(cluster, offline);
      expect(policies.get(box.name)?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
      expect(policies.get(box.name)?.spec?.egress).toBeUndefined();
      await box.setNetwork('public');
      expect(policies.get(box.name)?.spec?.egress).toHaveLength(2);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('is removed if the API server says that its pod is another one, and that pod remains', async () => {
    const { box, pods, policies, on } = await startBox();
    on(/^DELETE pods/, (response) => (failWith(response, 409, 'Precondition failed: UID'), true));
    const pod = pods.get(box.name);
    if (pod?.metadata !== undefined) pod.metadata.uid = 'another';
    await box.remove();
    expect([pods.size, policies.size]).toEqual([1, 1]);
    const kept = await startBox();
    kept.on(/^DELETE pods/, (response) => (failWith(response, 409, 'the object has been modified'), true));
    await expect(kept.box.remove()).rejects.toThrow('409 the object has been modified');
    const gone = await startBox();
    gone.on(/^DELETE pods/, (response) => (gone.pods.clear(), failWith(response, 409, 'Precondition failed'), true));
    await gone.box.remove();
    expect(gone.policies.size).toBe(0);
  });

  it('talks to a command until it ends or is closed', async () => {
    const { box } = await startBox();
    const talk = box.talk(shell('echo err >&2; while read -r a; do echo "$A $a"; done'), {
      env: { A: 'said' },
      cwd: '/',
    });
    talk.stdin.write('one\n');
    expect(String((await talk.stdout.take(1).toArray())[0])).toBe('said one\n');
    await talk.close();
    expect(await box.talk(shell('echo why >&2; exit 4'), {}).ended).toBe('why');
  });

  it.each([
    ['ImagePullBackOff', 'Back-off pulling image'],
    ['CreateContainerError', 'no space left on device'],
  ])('does not start with %s', async (reason, message) => {
    const { cluster, pods, policies, withStatus } = await start();
    withStatus({ phase: 'Pending', containerStatuses: [{ name: 'box', state: { waiting: { reason, message } } }] });
    await expect(openBox(cluster, options)).rejects.toThrow(`did not start: ${reason}: ${message}`);
    expect([pods.size, policies.size]).toEqual([0, 0]);
  });

  it('does not start if it is evicted, deleted or refused', async () => {
    const { cluster, pods, withStatus, on } = await start();
    withStatus({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' });
    await expect(openBox(cluster, options)).rejects.toThrow('did not start: Evicted: The node was low on memory.');
    on(/^GET pods\//, (response) => (failWith(response, 404, 'gone'), true));
    await expect(openBox(cluster, options)).rejects.toThrow('the pod was deleted');
    on(/^POST pods$/, (response) => (failWith(response, 403, 'exceeded quota'), true));
    await expect(openBox(cluster, options)).rejects.toThrow('kubernetes cannot create a box: 403 exceeded quota');
    expect(pods.size).toBe(0);
  });

  it('repeats calls that the API server fails to answer', async () => {
    const { cluster, pods, on } = await start();
    let failures = 2;
    on(/^(POST|GET) pods/, (response) => {
      if (failures-- <= 0) return false;
      if (failures === 0) response.destroy();
      else failWith(response, 503, 'overloaded');
      return true;
    });
    await openBox(cluster, options);
    expect(pods.size).toBe(1);
  });
});

it.skipIf(process.platform !== 'linux')('removes what dead processes left, and nothing else', async () => {
  const { cluster, pods, policies } = await start();
  const self = { ...describeSelf(), bootId: readBootId() };
  const add = (name: string, owner: unknown, phase = 'Running'): void => {
    const metadata = {
      name,
      labels: { 'agentjet.org/box': name },
      annotations: { 'agentjet.org/owner': JSON.stringify(owner) },
    };
    pods.set(name, { metadata, status: { phase } });
    policies.set(name, { metadata });
  };
  add('dead', { ...self, pid: 2 ** 22 + 1 });
  add('own', self);
  add('other', { ...self, host: 'elsewhere' });
  add('restarted', { ...self, host: 'elsewhere', space: 'pid:[1]', pod: 'p' });
  add('over', { ...self, host: 'elsewhere' }, 'Failed');
  policies.set('alone', { metadata: { ...policies.get('dead')?.metadata, name: 'alone' } });
  const mine = { ...cluster, self: { name: 'w', uid: 'p' } };
  expect(await removeLeftBoxes(mine)).toBe(3);
  expect([...pods.keys()]).toEqual(['own', 'other']);
  expect([...policies.keys()]).toEqual(['own', 'other']);
});

it('is checked by the API server before the first box', async () => {
  const { cluster, on, pods, calls } = await start();
  await checkCluster(cluster);
  expect(calls).toEqual(['GET pods', 'POST pods?dry', 'POST networkpolicies?dry']);
  expect(pods.size).toBe(0);
  on(/dry/, (response) => (failWith(response, 403, 'pods is forbidden'), true));
  await expect(checkCluster(cluster)).rejects.toThrow('kubernetes cannot create a box: 403 pods is forbidden');
});

it('takes images of a registry, by the digest of their folder', async () => {
  const built = { kind: 'built', context: '/t', digest: 'd'.repeat(64) } as const;
  const { cluster } = await start({ image: 'registry/tasks:{digest}' });
  expect(await prepareImage(cluster, built, 1)).toBe(`registry/tasks:${'d'.repeat(32)}`);
  expect(await prepareImage(cluster, { kind: 'named', image: 'i' }, 1)).toBe('i');
});
