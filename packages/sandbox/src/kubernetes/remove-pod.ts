import { ownPidSpace } from '@agentjet/core/processes';
import { isOwnerGone, readOwner, type BoxOwner } from '../box/labels.js';
import { askCluster, ClusterError, findInCluster } from './ask-cluster.js';
import type { BoxCluster } from './cluster.js';
import { boxLabel, ownerAnnotation } from './pod-spec.js';

/** Removes a pod and its policy. Another pod that has got the same name remains, with its policy. */
export async function removePod(cluster: BoxCluster, name: string, uid?: string): Promise<void> {
  const { pods, namespace } = cluster;
  const body = { gracePeriodSeconds: 0, ...(uid !== undefined && { preconditions: { uid } }) };
  try {
    await findInCluster('remove a box', () => pods.deleteNamespacedPod({ name, namespace, body }));
  } catch (error) {
    if (!(error instanceof ClusterError && error.status === 409)) throw error;
    const found = await findInCluster('find a box', () => pods.readNamespacedPod({ name, namespace }));
    if (found !== null && found.metadata?.uid === uid) throw error;
    if (found !== null) return;
  }
  await removePolicy(cluster, name);
}

async function removePolicy({ policies, namespace }: BoxCluster, name: string): Promise<void> {
  await findInCluster('remove the network policy of a box', () =>
    policies.deleteNamespacedNetworkPolicy({ name, namespace }),
  );
}

type Left = { readonly name: string; readonly owner: (BoxOwner & { readonly pod?: string }) | undefined };

/**
 * Removes what killed processes left: boxes of this machine, boxes of an earlier container of this pod, and boxes whose
 * time is over. Returns how many pods there were. Objects without our label remain.
 */
export async function removeLeftPods(cluster: BoxCluster): Promise<number> {
  const { pods, policies, namespace } = cluster;
  const list = { namespace, labelSelector: boxLabel };
  const found = await askCluster('list boxes', () => pods.listNamespacedPod(list));
  const left = found.items.filter(
    (pod) => isLeft(cluster, readLeft(pod)) || ['Failed', 'Succeeded'].includes(pod.status?.phase ?? ''),
  );
  for (const { metadata } of left) await removePod(cluster, metadata?.name ?? '', metadata?.uid);
  const alive = new Set(found.items.map(({ metadata }) => metadata?.name));
  for (const policy of (await askCluster('list policies', () => policies.listNamespacedNetworkPolicy(list))).items) {
    const { name, owner } = readLeft(policy);
    if (!alive.has(name) && isLeft(cluster, { name, owner })) await removePolicy(cluster, name);
  }
  return left.length;
}

type Found = {
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
};

const readLeft = ({ metadata }: Found): Left => ({
  name: metadata?.name ?? '',
  owner: readOwner(metadata?.annotations?.[ownerAnnotation] ?? ''),
});

function isLeft({ self }: BoxCluster, { owner }: Left): boolean {
  if (owner === undefined) return false;
  if (isOwnerGone(owner)) return true;
  // One container of a pod opens boxes. After a restart it has another space of processes.
  return self !== null && owner.pod === self.uid && owner.space !== ownPidSpace();
}
