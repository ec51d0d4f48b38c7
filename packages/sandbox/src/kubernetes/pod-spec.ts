import type { V1NetworkPolicy, V1NetworkPolicyEgressRule, V1ObjectMeta, V1Pod } from '@kubernetes/client-node';
import type { BoxNetwork, BoxOptions } from '../box/box.js';
import { ownerOf } from '../box/labels.js';
import { toolsFolderOf, type BoxCluster } from './cluster.js';

/** What a box is in a cluster: a pod, and a network policy of the same name. */

/** The label of every object of a box. Its value is the name of the box. */
export const boxLabel = 'agentjet.org/box';
/** The annotation with the process that opened the box. */
export const ownerAnnotation = 'agentjet.org/owner';
export const boxContainer = 'box';
/** The container that reports the user of the image. */
export const imageContainer = 'image';

/** A box is stopped by the cluster this long after it should have ended by itself. */
const deadlineReserveSeconds = 60;

export function podOf(cluster: BoxCluster, name: string, options: BoxOptions): V1Pod {
  const { image, cpus, memoryMegabytes, lifeSeconds, startSeconds = 0 } = options;
  const { pullSecret, toolsImage } = cluster.settings;
  const folder = toolsFolderOf(cluster);
  const mount = { name: 'tools', mountPath: folder };
  const limits = {
    ...(cpus !== undefined && { cpu: String(cpus) }),
    ...(memoryMegabytes !== undefined && { memory: `${memoryMegabytes}Mi` }),
  };
  const own = { image, imagePullPolicy: 'IfNotPresent', volumeMounts: [{ ...mount, readOnly: true }] };
  const shell = (script: string): string[] => [`${folder}/sh`, '-c', script, `${folder}/busybox`];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(cluster, name, options.labels),
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: Math.ceil(lifeSeconds + startSeconds) + deadlineReserveSeconds,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      ...(pullSecret !== null && { imagePullSecrets: [{ name: pullSecret }] }),
      volumes: [{ name: 'tools', emptyDir: { sizeLimit: '64Mi' } }],
      initContainers: [
        {
          name: 'tools',
          image: toolsImage,
          imagePullPolicy: 'IfNotPresent',
          command: [
            '/bin/busybox',
            'sh',
            '-c',
            `cp /bin/busybox ${folder}/busybox && ln ${folder}/busybox ${folder}/sh`,
          ],
          volumeMounts: [mount],
          securityContext: { privileged: false, runAsUser: 0 },
        },
        {
          ...own,
          name: imageContainer,
          command: shell('echo "$("$0" id -u):$("$0" id -g)" > /dev/termination-log'),
          securityContext: { privileged: false },
        },
      ],
      containers: [
        {
          ...own,
          name: boxContainer,
          args: shell(`exec "$0" sleep ${Math.ceil(lifeSeconds)}`), // the entry point of the image remains
          resources: { limits },
          securityContext: { privileged: false, runAsUser: 0, runAsGroup: 0 },
        },
      ],
    },
  };
}

export function policyOf(cluster: BoxCluster, name: string, network: BoxNetwork): V1NetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(cluster, name),
    spec: {
      podSelector: { matchLabels: { [boxLabel]: name } },
      policyTypes: ['Ingress', 'Egress'],
      ...(network === 'public' && { egress: publicEgress() }),
    },
  };
}

/** Addresses of clusters, of private networks and of the metadata of clouds. */
const privateV4 = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16', '127.0.0.0/8'];
const privateV6 = ['fc00::/7', 'fe80::/10'];

/** A box reaches the internet and the cluster's name server, and nothing else of the cluster. */
function publicEgress(): V1NetworkPolicyEgressRule[] {
  const system = { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } };
  return [
    {
      to: [{ ipBlock: { cidr: '0.0.0.0/0', except: privateV4 } }, { ipBlock: { cidr: '::/0', except: privateV6 } }],
    },
    { to: [{ namespaceSelector: system }], ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 })) },
  ];
}

function metadataOf(
  { namespace, self }: BoxCluster,
  name: string,
  annotations: Readonly<Record<string, string>> = {},
): V1ObjectMeta {
  return {
    name,
    namespace,
    labels: { [boxLabel]: name, 'app.kubernetes.io/managed-by': 'agentjet' },
    annotations: { ...annotations, [ownerAnnotation]: JSON.stringify({ ...ownerOf(), pod: self?.uid }) },
    ...(self !== null && {
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: self.name, uid: self.uid }],
    }),
  };
}
