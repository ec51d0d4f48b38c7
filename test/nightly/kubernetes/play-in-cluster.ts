import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createRandom, EnvironmentOutage, type Task } from '@agentjet/core';
import { readHarborTask } from '@agentjet/environments/harbor';
import {
  boxEngines,
  checkCluster,
  connectCluster,
  findWorkingEngine,
  prepareImage,
  removeLeftBoxes,
  type BoxCluster,
  type BoxEngine,
} from '@agentjet/sandbox/boxes';
import { CoreV1Api, KubernetesObjectApi, NetworkingV1Api, loadAllYaml } from '@kubernetes/client-node';
import { doNothing, openBench, playTask, readTasks, solve } from '../../bench/harbor/play.js';
import { inParallel } from '../../bench/in-parallel.js';
import { startFaultyProxy, type CallFault } from './faulty-proxy.js';
import { Kubelet, type PodFault } from './kubelet.js';
import { preparePrograms, startCluster, type Cluster, type Programs } from './start-cluster.js';

/** Plays tasks of Harbor in boxes of a cluster, while calls, pods and containers fail. */

export type ClusterResult = {
  readonly summary: {
    readonly api_server: string;
    readonly faults: number;
    readonly wrong_rewards: number;
    readonly left: number;
  };
  /** The objects of `deploy/` that the API server accepted. */
  readonly manifests: number;
  readonly episodes: number;
  readonly finished: number;
  /** Failures of episodes that were not outages. */
  readonly notOutages: readonly string[];
  readonly kinds: Readonly<Record<string, number>>;
};

const namespace = 'boxes';
const attempts = 8;
const image = 'localhost/agentjet/box:{digest}';
const toolsImage = 'localhost/agentjet/tools:1';
const deploy = path.join(import.meta.dirname, '..', '..', '..', 'deploy', 'kubernetes');

export async function playInCluster({
  episodes,
  faultShare,
  seed,
  report,
}: {
  readonly episodes: number;
  /** The share of calls, starts and execs that fail. */
  readonly faultShare: number;
  readonly seed: number;
  readonly report: (line: string) => void;
}): Promise<ClusterResult | string> {
  const engine = await findWorkingEngine(boxEngines.filter((name) => name === 'podman'));
  if (typeof engine === 'string') return engine;
  const programs = preparePrograms();
  if (typeof programs === 'string') return programs;
  const tasks = await prepareTasks(engine, programs);
  const cluster = await startCluster(programs);
  const faults = new Faults(seed, faultShare);
  const kubelet = new Kubelet({
    ...cluster,
    config: cluster.admin,
    namespace,
    podman: engine.program,
    faultOf: () => faults.ofPod(),
  });
  const proxy = await startFaultyProxy(cluster, cluster, (isExec) => faults.ofCall(isExec));
  try {
    const manifests = await applyManifests(cluster);
    report(`API server ${cluster.version}, ${manifests} manifests accepted`);
    await kubelet.start();
    const boxes = await connect(cluster, proxy.port);
    await checkCluster(boxes);
    faults.isOn = true;
    const { ends, notOutages } = await playAll(tasks, boxes, { episodes, report });
    faults.isOn = false;
    const left = await countLeft(cluster, boxes, kubelet);
    const count = (end: End): number => ends.filter((each) => each === end).length;
    return {
      summary: { api_server: cluster.version, faults: faults.injected, wrong_rewards: count('wrong'), left },
      manifests,
      episodes,
      finished: count('right'),
      notOutages,
      kinds: faults.kinds,
    };
  } finally {
    faults.isOn = false;
    await kubelet.stop();
    proxy.close();
    await cluster.stop();
  }
}

const callFaults: readonly CallFault[] = ['refuse', 'overloaded', 'lost-before', 'lost-after', 'slow', 'cut'];
const podFaults: readonly PodFault[] = ['evict', 'kill', 'delete', 'no-image', 'cut-exec', 'refuse-exec'];

class Faults {
  readonly kinds: Record<string, number> = {};
  injected = 0;
  isOn = false;
  readonly #random;
  readonly #share: number;

  constructor(seed: number, share: number) {
    this.#random = createRandom(seed);
    this.#share = share;
  }

  ofCall(isExec: boolean): CallFault | undefined {
    return this.#draw(callFaults, isExec ? 'exec ' : 'call ');
  }

  ofPod(): PodFault | undefined {
    return this.#draw(podFaults, 'pod ');
  }

  #draw<T extends string>(all: readonly T[], prefix: string): T | undefined {
    if (!this.isOn || this.#random.int(10_000) >= this.#share * 10_000) return undefined;
    const fault = all[this.#random.int(all.length)];
    this.injected++;
    this.kinds[`${prefix}${fault}`] = (this.kinds[`${prefix}${fault}`] ?? 0) + 1;
    return fault;
  }
}

/** Tasks whose verdict depends on a network that this kubelet does not give. */
const leftOut = new Set(['network-of-phases', 'allowed-hosts']);

async function prepareTasks(engine: BoxEngine, { busybox }: Programs): Promise<readonly Task[]> {
  const script = `set -e; root=$(mktemp -d); mkdir $root/bin; cp ${busybox} $root/bin/busybox; ln $root/bin/busybox $root/bin/sh; tar -C $root -c . | ${engine.program} import - ${toolsImage}; rm -rf $root`;
  const made = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`The image of tools cannot be made: ${made.stderr}`);
  const tasks: Task[] = [];
  for (const task of await readTasks()) {
    const { folder } = task.metadata['harbor'] as { readonly folder: string };
    const { machine, steps } = await readHarborTask(folder);
    if (leftOut.has(task.taskId) || machine.compose !== null) continue; // a cluster refuses docker-compose.yaml
    tasks.push(task);
    for (const each of [machine, ...steps.map(({ verifier }) => verifier.machine)])
      if (each?.build)
        await prepareImage(engine, { kind: 'built', context: each.build.folder, digest: each.build.digest }, 600);
  }
  return tasks;
}

/** Lets the API server check all manifests of `deploy/`, and creates the rights of boxes. Returns how many objects there are. */
async function applyManifests({ admin }: Cluster): Promise<number> {
  const objects = KubernetesObjectApi.makeApiClient(admin);
  await admin.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: namespace } } });
  let count = 0;
  for (const name of ['server', 'workers', 'boxes'])
    for (const object of loadAllYaml(readFileSync(path.join(deploy, `${name}.yaml`), 'utf8'))) {
      const placed = { ...object, metadata: { ...object.metadata, namespace } };
      await objects.create(placed, undefined, name === 'boxes' ? undefined : 'All');
      count++;
    }
  return count;
}

/** Connects with the rights of `boxes.yaml`, as a worker's pod. */
async function connect({ admin, writeConfig }: Cluster, port: number): Promise<BoxCluster> {
  const core = admin.makeApiClient(CoreV1Api);
  const request = { spec: { audiences: [], expirationSeconds: 7200 } };
  const made = await core.createNamespacedServiceAccountToken({
    name: 'agentjet-boxes',
    namespace,
    body: request as never,
  });
  const worker = await core.createNamespacedPod({
    namespace,
    body: {
      metadata: { name: 'worker' },
      spec: { serviceAccountName: 'agentjet-boxes', containers: [{ name: 'worker', image: 'agentjet-swarm' }] },
    },
  });
  process.env['KUBECONFIG'] = writeConfig('boxes', made.status?.token ?? '', port);
  process.env['AJET_POD_NAME'] = 'worker';
  process.env['AJET_POD_UID'] = worker.metadata?.uid ?? '';
  try {
    return await connectCluster({ namespace, image, pullSecret: null, toolsImage });
  } finally {
    for (const name of ['KUBECONFIG', 'AJET_POD_NAME', 'AJET_POD_UID']) delete process.env[name];
  }
}

type End = 'right' | 'wrong' | 'lost';

async function playAll(
  tasks: readonly Task[],
  engine: BoxCluster,
  { episodes, report }: { readonly episodes: number; readonly report: (line: string) => void },
) {
  const environment = openBench({ engine });
  const notOutages: string[] = [];
  const playOne = async (task: Task, isSolved: boolean): Promise<End> => {
    for (let attempt = 1; attempt <= attempts; attempt++)
      try {
        const { reward } = await playTask(environment, task, isSolved ? solve : doNothing);
        if (reward === (isSolved ? 1 : 0)) return 'right';
        report(`wrong: ${task.taskId} ${isSolved ? 'solved' : 'not solved'} got ${reward}`);
        return 'wrong';
      } catch (error) {
        report(`${task.taskId} attempt ${attempt}: ${String(error).slice(0, 200)}`);
        if (!(error instanceof EnvironmentOutage)) notOutages.push(String(error).slice(0, 300));
      }
    return 'lost';
  };
  const ends = await inParallel([...Array(episodes).keys()], 3, async (episode) => {
    const task = tasks[Math.floor(episode / 2) % tasks.length];
    if (task === undefined) throw new Error('There are no tasks.');
    const end = await playOne(task, episode % 2 === 0);
    report(`episode ${episode} of ${task.taskId}: ${end}`);
    return end;
  });
  return { ends, notOutages };
}

/** What is left after the worker's pod was deleted, as a cluster does after kill -9, and after the next start. */
async function countLeft({ admin }: Cluster, boxes: BoxCluster, kubelet: Kubelet): Promise<number> {
  const core = admin.makeApiClient(CoreV1Api);
  await core.deleteNamespacedPod({ name: 'worker', namespace, gracePeriodSeconds: 0 });
  await removeLeftBoxes(boxes);
  const count = async (): Promise<number> => {
    const pods = await core.listNamespacedPod({ namespace });
    const policies = await admin.makeApiClient(NetworkingV1Api).listNamespacedNetworkPolicy({ namespace });
    return pods.items.length + policies.items.length + kubelet.containers;
  };
  for (let tries = 0; tries < 60 && (await count()) > 0; tries++)
    await new Promise((resolve) => setTimeout(resolve, 1000));
  return count();
}
