import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import type { Box, BoxOptions } from '../box/box.js';
import { SandboxError } from '../code-runner.js';
import { askCluster, ClusterError, findInCluster } from './ask-cluster.js';
import type { BoxCluster } from './cluster.js';
import { PodBox } from './pod-box.js';
import { boxContainer, imageContainer, podOf, policyOf } from './pod-spec.js';
import { removePod } from './remove-pod.js';

const leastStartSeconds = 120;
const pollMs = 250;

/** Starts a box as a pod, and waits until it runs. The network policy exists before the pod does. */
export async function openPod(cluster: BoxCluster, options: BoxOptions): Promise<Box> {
  const { pods, policies, namespace } = cluster;
  const { networks, signal, env = {}, startSeconds = 0 } = options;
  const name = `ajet-box-${randomUUID().slice(0, 13)}`;
  const network = networks[0] ?? 'none';
  try {
    const policy = policyOf(cluster, name, network);
    await create('create the network policy of a box', signal, () =>
      policies.createNamespacedNetworkPolicy({ namespace, body: policy }),
    );
    const body = podOf(cluster, name, options);
    await create('create a box', signal, () => pods.createNamespacedPod({ namespace, body }));
    const pod = await waitUntilRunning(cluster, name, { seconds: Math.max(startSeconds, leastStartSeconds), signal });
    const box = new PodBox(cluster, { name, uid: pod.metadata?.uid ?? '', imageUser: imageUserOf(pod), env });
    await box.begin(network);
    return box;
  } catch (error) {
    await removePod(cluster, name).catch(() => undefined);
    throw error;
  }
}

/** The name is new. If it is taken, an earlier try was successful and only its answer was lost. */
async function create(what: string, signal: AbortSignal | undefined, call: () => Promise<unknown>): Promise<void> {
  try {
    await askCluster(what, call, { signal });
  } catch (error) {
    if (!(error instanceof ClusterError && error.status === 409)) throw error;
  }
}

async function waitUntilRunning(
  { pods, namespace }: BoxCluster,
  name: string,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal | undefined },
): Promise<V1Pod> {
  const late = performance.now() + seconds * 1000;
  for (;;) {
    const pod = await findInCluster('find a box', () => pods.readNamespacedPod({ name, namespace }));
    if (pod === null) throw notStarted(name, 'the pod was deleted');
    if (isUp(pod)) return pod;
    const problem = problemOf(pod);
    if (problem !== undefined) throw notStarted(name, problem);
    if (performance.now() > late) throw notStarted(name, `it does not run after ${seconds} s${waitsFor(pod)}`);
    await sleep(pollMs, undefined, { signal });
  }
}

const isUp = ({ status, metadata }: V1Pod): boolean =>
  status?.phase === 'Running' &&
  metadata?.deletionTimestamp === undefined &&
  status.containerStatuses?.find(({ name }) => name === boxContainer)?.state?.running !== undefined;

/** Reasons that do not pass without a change. */
const hopeless =
  /^(ImagePullBackOff|InvalidImageName|ErrImageNeverPull|CreateContainerConfigError|CreateContainerError|RunContainerError|CrashLoopBackOff)$/;

function problemOf({ status, metadata }: V1Pod): string | undefined {
  if (metadata?.deletionTimestamp !== undefined) return 'the pod is being deleted';
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded')
    return [status.reason, status.message].filter(Boolean).join(': ') || endOf(containersOf(status)) || status.phase;
  const waiting = containersOf(status).find(({ state }) => hopeless.test(state?.waiting?.reason ?? ''))?.state?.waiting;
  return waiting === undefined ? undefined : `${waiting.reason}: ${waiting.message ?? 'no message'}`;
}

const containersOf = (status: V1Pod['status']): readonly V1ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

function endOf(containers: readonly V1ContainerStatus[]): string | undefined {
  const ended = containers.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const { reason = '', exitCode, message = '' } = ended?.state?.terminated ?? {};
  return ended && `the container ${ended.name} ended with ${exitCode} ${reason} ${message}`.trim();
}

function waitsFor({ status }: V1Pod): string {
  const scheduled = status?.conditions?.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False');
  const waiting = containersOf(status).find(({ state }) => state?.waiting !== undefined)?.state?.waiting;
  const why = scheduled?.message ?? waiting?.message ?? waiting?.reason;
  return why === undefined ? '' : `: ${why}`;
}

function imageUserOf({ status }: V1Pod): string {
  const image = status?.initContainerStatuses?.find(({ name }) => name === imageContainer);
  const said = image?.state?.terminated?.message?.trim() ?? '';
  if (/^\d+:\d+$/.test(said)) return said;
  throw new SandboxError('failed', `The image did not report its user, but ${JSON.stringify(said)}.`);
}

const notStarted = (name: string, why: string): SandboxError =>
  new SandboxError('failed', `The box ${name} did not start: ${why}`);
