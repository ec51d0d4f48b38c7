import { openEntry, type Backbone, type CommonConfig, type OptimizerOptions } from '@agentjet/core';
import type { JobListener } from '../events.js';
import type { BackboneEntry } from '../inputs/job-inputs.js';
import { findModelDir } from './model-dir.js';
import { trackBackbone } from './open-backbones.js';

/** The chosen backbone, with the weights of `model.path`. Without an optimizer it only samples. */
export function openBackbone(
  entry: BackboneEntry,
  config: CommonConfig,
  { emit, optimizer }: { readonly emit: JobListener; readonly optimizer?: OptimizerOptions },
): Promise<Backbone> {
  const open = async (): Promise<Backbone> =>
    openEntry('backbones', entry, config, {
      config,
      modelDir: findModelDir(config.model.path),
      notice: (message) => emit({ type: 'notice', message }),
      ...(optimizer === undefined ? {} : { optimizer }),
    });
  return trackBackbone(open());
}
