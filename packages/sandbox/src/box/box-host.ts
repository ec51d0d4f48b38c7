import { SandboxError } from '../code-runner.js';
import type { BoxCluster } from '../kubernetes/cluster.js';
import { openPod } from '../kubernetes/open-pod.js';
import { removeLeftPods } from '../kubernetes/remove-pod.js';
import { openContainer, type Box, type BoxOptions } from './box.js';
import { prepareEngineImage, tagOf, type ImageSource } from './build-image.js';
import type { BoxEngine } from './engine.js';
import { removeLeftContainers } from './labels.js';

/** What runs boxes: an engine on this machine, or a cluster. */
export type BoxHost = BoxEngine | BoxCluster;

/** Starts a box. */
export const openBox = (host: BoxHost, options: BoxOptions): Promise<Box> =>
  host.name === 'kubernetes' ? openPod(host, options) : openContainer(host, options);

/**
 * Returns the name of an image, after it was built or pulled if necessary. A cluster pulls it when the box starts, and
 * cannot build one.
 */
export async function prepareImage(host: BoxHost, source: ImageSource, seconds: number): Promise<string> {
  if (host.name !== 'kubernetes') return prepareEngineImage(host, source, seconds);
  if (source.kind === 'named') return source.image;
  const { image } = host.settings;
  if (image !== null) return image.replaceAll('{digest}', tagOf(source.digest));
  throw new SandboxError('failed', `${source.context}/Dockerfile cannot be built on a cluster.`);
}

/** Removes the boxes of processes that no longer exist, and returns how many there were. */
export const removeLeftBoxes = (host: BoxHost): Promise<number> =>
  host.name === 'kubernetes' ? removeLeftPods(host) : removeLeftContainers(host);
