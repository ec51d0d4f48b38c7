import { askCluster } from './ask-cluster.js';
import type { BoxCluster } from './cluster.js';
import { podOf, policyOf } from './pod-spec.js';

/**
 * Rejects with SandboxError if the cluster does not answer, or if it does not let this process open boxes. The API server
 * checks a pod and a policy, and keeps neither.
 */
export async function checkCluster(cluster: BoxCluster): Promise<void> {
  const { pods, policies, namespace, settings } = cluster;
  const name = 'ajet-box-check';
  const options = { image: settings.toolsImage, networks: ['none'], lifeSeconds: 60 } as const;
  const attempts = { attempts: 2 };
  await askCluster('list boxes', () => pods.listNamespacedPod({ namespace, limit: 1 }), attempts);
  await askCluster(
    'create a box',
    () => pods.createNamespacedPod({ namespace, body: podOf(cluster, name, options), dryRun: 'All' }),
    attempts,
  );
  const body = policyOf(cluster, name, 'none');
  const check = () => policies.createNamespacedNetworkPolicy({ namespace, body, dryRun: 'All' });
  await askCluster('create the network policy of a box', check, attempts);
}
