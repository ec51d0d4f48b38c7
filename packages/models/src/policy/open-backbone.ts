import { openEntry, type Backbone, type CommonConfig, type OptimizerOptions } from '@agentjet/core';
import type { JobListener } from '@agentjet/records';
import type { BackboneEntry } from '@agentjet/inputs';
import { trackBackbone } from './open-backbones.js';

type OpenOptions = {
  readonly emit: JobListener;
  readonly modelDir: string;
  readonly optimizer?: OptimizerOptions;
  readonly runDir?: string;
  readonly signal?: AbortSignal | undefined;
};

/** Opens the chosen backbone with the weights of `modelDir`. Without an optimizer it only samples. */
export function openBackbone(
  entry: BackboneEntry,
  config: CommonConfig,
  { emit, modelDir, optimizer, runDir, signal }: OpenOptions,
): Promise<Backbone> {
  const open = async (): Promise<Backbone> =>
    openEntry('backbones', entry, config, {
      config,
      modelDir,
      notice: (message) => emit({ type: 'notice', message }),
      ...(optimizer === undefined ? {} : { optimizer }),
      ...(runDir === undefined ? {} : { runDir }),
      ...(signal === undefined ? {} : { signal }),
    });
  return trackBackbone(open());
}
