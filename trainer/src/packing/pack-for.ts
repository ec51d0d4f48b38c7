import type { BackboneCapabilities, Sample, TreePack } from '@agentjet/core';
import { packRows } from './pack-rows.js';
import type { PackOptions } from './check-options.js';
import { packTrees, type PackReport } from './pack-trees.js';

/**
 * Packs the samples of one optimizer step as the backbone takes them: as token trees or as rows. Throws as packTrees
 * does.
 */
export function packFor(
  { capabilities }: { readonly capabilities: Pick<BackboneCapabilities, 'takes'> },
  samples: readonly Sample[],
  options: PackOptions,
): { readonly packs: readonly TreePack[]; readonly report: PackReport } {
  return capabilities.takes === 'rows' ? packRows(samples, options) : packTrees(samples, options);
}
