import { ConfigError, toErrorMessage } from '@agentjet/core';
import { SandboxError } from '@agentjet/sandbox';
import {
  boxEngines,
  checkCluster,
  connectCluster,
  findWorkingEngine,
  type BoxEngineName,
  type BoxHost,
  type ClusterSettings,
} from '@agentjet/sandbox/boxes';

/** Finds what runs the boxes, and tries it. Throws ConfigError. */
export async function findBoxHost(
  engine: BoxEngineName | 'auto' | 'kubernetes',
  settings: ClusterSettings,
): Promise<BoxHost> {
  if (engine === 'kubernetes') return findCluster(settings);
  const found = await findWorkingEngine(engine === 'auto' ? boxEngines : [engine]);
  if (typeof found !== 'string') return found;
  throw new ConfigError('no_engine', `environment.protocol is harbor, which needs podman or docker. ${found}.`);
}

async function findCluster(settings: ClusterSettings): Promise<BoxHost> {
  try {
    const cluster = await connectCluster(settings);
    await checkCluster(cluster);
    return cluster;
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new ConfigError(
      'no_engine',
      `environment.harbor.engine is kubernetes. ${toErrorMessage(error)}. deploy/kubernetes/boxes.yaml has the rights that boxes need.`,
      { cause: error },
    );
  }
}
