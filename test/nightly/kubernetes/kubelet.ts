import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CoreV1Api, type KubeConfig, type V1Container, type V1Pod, type V1PodStatus } from '@kubernetes/client-node';
import { serveExec } from '@agentjet/sandbox/testing';
import { WebSocketServer } from 'ws';

/**
 * A small kubelet and scheduler for one node. It runs the containers of pods with podman, all without a network, reports
 * their status, and serves `exec`. `faultOf` lets it fail.
 */

export type PodFault = 'evict' | 'kill' | 'delete' | 'no-image' | 'cut-exec' | 'refuse-exec';

export type KubeletOptions = {
  readonly config: KubeConfig;
  readonly namespace: string;
  readonly podman: string;
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Called at every start of a pod and at every exec. */
  readonly faultOf: (moment: 'start' | 'exec') => PodFault | undefined;
};

type Running = {
  readonly folder: string;
  readonly container: string;
  readonly startedAt: number;
  state: 'starting' | 'running' | 'over';
};

const call = promisify(execFile);
const nodeName = 'node-1';
const pollMs = 200;

export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #api: CoreV1Api;
  readonly #pods = new Map<string, Running>();
  readonly #server;
  #isStopped = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#api = options.config.makeApiClient(CoreV1Api);
    const { cert, key } = options;
    this.#server = createServer({ cert, key }, (_, response) => void response.writeHead(404).end());
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
    this.#server.on('upgrade', (request, socket, head) => {
      const url = new URL(request.url ?? '', 'https://node');
      const [, kind, , pod = ''] = url.pathname.split('/');
      const running = [...this.#pods.values()].find(
        ({ container, state }) => state === 'running' && container.startsWith(`${pod}.`),
      );
      const fault = this.#fault('exec', pod);
      if (kind !== 'exec' || running === undefined || fault === 'refuse-exec') return void socket.destroy();
      sockets.handleUpgrade(request, socket, head, (opened) => {
        const command = url.searchParams.getAll('command');
        serveExec(opened, spawn(this.#options.podman, ['exec', '-i', running.container, ...command]));
        if (fault === 'cut-exec') setTimeout(() => opened.terminate(), 20 + Math.random() * 400);
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    const now = new Date();
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'ready',
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    };
    const node = await this.#api.createNode({ body: { metadata: { name: nodeName } } });
    await this.#api.replaceNodeStatus({ name: nodeName, body: { ...node, status } });
    this.#loop = this.#run();
  }

  /** Stops the kubelet, and removes all of its containers. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#loop;
    await Promise.all([...this.#pods.values()].map((running) => this.#remove(running)));
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get containers(): number {
    return this.#pods.size;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#look().catch((error: unknown) => console.error(`kubelet: ${String(error).split('\n')[0]}`));
      await sleep(pollMs);
    }
  }

  async #look(): Promise<void> {
    const { namespace } = this.#options;
    const { items } = await this.#api.listNamespacedPod({ namespace });
    const seen = new Set(items.map(({ metadata }) => metadata?.uid ?? ''));
    for (const pod of items) {
      const uid = pod.metadata?.uid ?? '';
      const known = this.#pods.get(uid);
      if (known === undefined && (pod.spec?.initContainers?.length ?? 0) > 0 && pod.status?.phase === 'Pending')
        void this.#begin(pod, uid);
      else if (known?.state === 'running') await this.#check(pod, known);
    }
    for (const [uid, running] of this.#pods)
      if (!seen.has(uid) && running.state !== 'starting') {
        this.#pods.delete(uid);
        await this.#remove(running);
      }
  }

  async #check(pod: V1Pod, running: Running): Promise<void> {
    const seconds = (performance.now() - running.startedAt) / 1000;
    if (seconds > (pod.spec?.activeDeadlineSeconds ?? Infinity)) return this.#end(pod, running, 'DeadlineExceeded');
    const { stdout } = await this.#podman(['inspect', '--format', '{{.State.Running}}', running.container]).catch(
      () => ({ stdout: 'false' }),
    );
    if (stdout.trim() !== 'true') await this.#end(pod, running, 'ContainerDied');
  }

  async #end(pod: V1Pod, running: Running, reason: string): Promise<void> {
    running.state = 'over';
    await this.#report(pod, { phase: 'Failed', reason, message: `the pod ended: ${reason}` });
    await this.#remove(running);
  }

  async #begin(pod: V1Pod, uid: string): Promise<void> {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-'));
    const running: Running = {
      folder,
      container: `${name}.${uid.slice(0, 8)}`,
      startedAt: performance.now(),
      state: 'starting',
    };
    this.#pods.set(uid, running);
    try {
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
      if (pod.spec?.nodeName === undefined)
        await this.#api.createNamespacedPodBinding({ name, namespace, body: { metadata: { name }, target } });
      const fault = this.#fault('start', name);
      if (fault === 'no-image') throw new Error('injected: pull access denied');
      const messages: V1PodStatus['initContainerStatuses'] = [];
      for (const container of pod.spec?.initContainers ?? []) {
        const file = path.join(folder, `${container.name}.log`);
        writeFileSync(file, '', { mode: 0o666 });
        await this.#podman([
          'run',
          '--rm',
          '--pull',
          'never',
          '--network',
          'none',
          '-v',
          `${file}:/dev/termination-log`,
          ...argumentsOf(container, folder),
        ]);
        messages.push({
          ...statusOf(container),
          state: { terminated: { exitCode: 0, message: readFileSync(file, 'utf8') } },
        });
      }
      const [box] = pod.spec?.containers ?? [];
      if (box === undefined) throw new Error('The pod has no container.');
      const { memory, cpu } = box.resources?.limits ?? {};
      const limits = [
        ...(memory === undefined ? [] : ['--memory', memory.replace('Mi', 'm')]),
        ...(cpu === undefined ? [] : ['--cpus', cpu]),
      ];
      const env = ['--env', 'KUBERNETES_SERVICE_HOST=10.96.0.1', '--env', 'KUBERNETES_SERVICE_PORT=443'];
      await this.#podman([
        'run',
        '-d',
        '--name',
        running.container,
        '--pull',
        'never',
        '--network',
        'none',
        ...limits,
        ...env,
        ...argumentsOf(box, folder),
      ]);
      const startedAt = new Date();
      const containerStatuses = [{ ...statusOf(box), ready: true, state: { running: { startedAt } } }];
      const conditions = [{ type: 'Ready', status: 'True' }];
      await this.#report(pod, {
        phase: 'Running',
        startTime: startedAt,
        conditions,
        initContainerStatuses: messages,
        containerStatuses,
      });
      running.state = 'running';
      if (fault === 'evict') await this.#end(pod, running, 'Evicted');
    } catch (error) {
      running.state = 'over';
      const waiting = { reason: 'ImagePullBackOff', message: String(error).split('\n').at(-2) ?? String(error) };
      const containerStatuses = (pod.spec?.containers ?? []).map((each) => ({ ...statusOf(each), state: { waiting } }));
      await this.#report(pod, { phase: 'Pending', containerStatuses });
    }
  }

  #fault(moment: 'start' | 'exec', pod: string): PodFault | undefined {
    const fault = this.#options.faultOf(moment);
    const running = [...this.#pods.values()].find(({ container }) => container.startsWith(`${pod}.`));
    if (fault === 'kill' && running !== undefined)
      void this.#podman(['kill', running.container]).catch(() => undefined);
    const { namespace } = this.#options;
    if (fault === 'delete')
      void this.#api.deleteNamespacedPod({ name: pod, namespace, gracePeriodSeconds: 0 }).catch(() => undefined);
    return fault;
  }

  async #report({ metadata }: V1Pod, status: V1PodStatus): Promise<void> {
    const place = { name: metadata?.name ?? '', namespace: metadata?.namespace ?? '' };
    for (let tries = 0; tries < 5; tries++)
      try {
        const pod = await this.#api.readNamespacedPod(place);
        await this.#api.replaceNamespacedPodStatus({
          ...place,
          body: { ...pod, status: { ...pod.status, ...status } },
        });
        return;
      } catch (error) {
        const { code } = error as { readonly code?: number };
        if (code === 404) return;
        if (code !== 409) console.error(`kubelet: no status of ${place.name}: ${String(error).slice(0, 300)}`);
      }
  }

  async #remove({ container, folder }: Running): Promise<void> {
    await this.#podman(['rm', '--force', '--time', '0', '--volumes', container]).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }

  #podman(args: readonly string[]) {
    return call(this.#options.podman, [...args], { timeout: 120_000 });
  }
}

function argumentsOf(
  { image = '', command = [], args = [], securityContext, volumeMounts = [] }: V1Container,
  folder: string,
): readonly string[] {
  const [program, ...rest] = command;
  const user = securityContext?.runAsUser === undefined ? [] : ['--user', String(securityContext.runAsUser)];
  const mounts = volumeMounts.flatMap(({ name, mountPath, readOnly }) => {
    const source = path.join(folder, name);
    mkdirSync(source, { recursive: true });
    return ['-v', `${source}:${mountPath}${readOnly === true ? ':ro' : ''}`];
  });
  return [...user, ...mounts, ...(program === undefined ? [] : ['--entrypoint', program]), image, ...rest, ...args];
}

const statusOf = ({ name, image = '' }: V1Container) => ({
  name,
  image,
  imageID: image,
  ready: false,
  restartCount: 0,
});
