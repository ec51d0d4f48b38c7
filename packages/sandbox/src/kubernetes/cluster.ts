import { readFileSync } from 'node:fs';
import type { CoreV1Api, KubeConfig, NetworkingV1Api } from '@kubernetes/client-node';
import { toErrorMessage } from '@agentjet/core';
import { SandboxError } from '../code-runner.js';

/** A cluster of Kubernetes that runs boxes as pods in one namespace. */
export type BoxCluster = {
  readonly name: 'kubernetes';
  readonly namespace: string;
  readonly config: KubeConfig;
  readonly pods: CoreV1Api;
  readonly policies: NetworkingV1Api;
  /** The pod that this process runs in. Boxes are removed with it. Null if it is unknown or in another namespace. */
  readonly self: { readonly name: string; readonly uid: string } | null;
  readonly settings: ClusterSettings;
};

export type ClusterSettings = {
  /** Null: the namespace of the current context, or of this pod. */
  readonly namespace: string | null;
  /** The image of a task that has only a Dockerfile. `{digest}` is the digest of its folder. */
  readonly image: string | null;
  /** A Secret with the credentials of a registry. */
  readonly pullSecret: string | null;
  /** An image with a static `/bin/busybox`, whose programs serve the box. */
  readonly toolsImage: string;
  /** Where a box has these programs. Tests without containers have another folder. */
  readonly toolsFolder?: string;
};

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Connects as `kubectl` does: KUBECONFIG, `~/.kube/config`, or the service account of this pod. Throws SandboxError. */
export async function connectCluster(settings: ClusterSettings): Promise<BoxCluster> {
  const { KubeConfig, CoreV1Api, NetworkingV1Api } = await loadClient();
  const config = new KubeConfig();
  try {
    config.loadFromDefault();
  } catch (error) {
    throw new SandboxError('unavailable', `The configuration of kubectl cannot be read: ${toErrorMessage(error)}`);
  }
  const own = ownNamespace();
  const named = config.getContextObject(config.getCurrentContext())?.namespace;
  const namespace = settings.namespace ?? named ?? own ?? 'default';
  const { AJET_POD_NAME: name, AJET_POD_UID: uid } = process.env;
  return {
    name: 'kubernetes',
    namespace,
    config,
    pods: config.makeApiClient(CoreV1Api),
    policies: config.makeApiClient(NetworkingV1Api),
    self: name && uid && (own ?? namespace) === namespace ? { name, uid } : null,
    settings,
  };
}

export const toolsFolderOf = ({ settings }: BoxCluster): string => settings.toolsFolder ?? '/agentjet';

function ownNamespace(): string | undefined {
  try {
    return readFileSync(`${accountFolder}/namespace`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

async function loadClient() {
  try {
    return await import('@kubernetes/client-node');
  } catch (error) {
    throw new SandboxError(
      'unavailable',
      'Boxes on Kubernetes need the package @kubernetes/client-node, which is not installed. Run: npm install @kubernetes/client-node@1.4.0',
      { cause: error },
    );
  }
}
