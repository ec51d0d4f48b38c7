import type { CommonConfig } from '@agentjet/core';
import type { JobListener } from '../events.js';
import type { BackboneEntry } from '../inputs/job-inputs.js';
import { resolveModelDir } from './model-dir.js';

/** The folder of the job's model, downloaded if need be. To be called before anything is opened or written. */
export async function prepareModel(
  config: CommonConfig,
  backbone: BackboneEntry,
  { emit, signal }: { readonly emit: JobListener; readonly signal?: AbortSignal | undefined },
): Promise<string> {
  const onNotice = (message: string): void => emit({ type: 'notice', message });
  const { readsWeights = true } = backbone;
  return resolveModelDir(config.model.path, { withWeights: readsWeights, signal, onNotice });
}
