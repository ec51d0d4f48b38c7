import type { CommonConfig } from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import { judgeModel, type JudgeModelOptions, type PreparedModel } from './judge-model.js';

export type { PreparedModel } from './judge-model.js';

/**
 * Returns the folder of the job's model, which is downloaded if it is missing. Call it before you open or write
 * anything. A model that does not fit into memory is refused with BackboneError `not_enough_memory` before its weights
 * are downloaded.
 */
export async function prepareModel(
  config: CommonConfig,
  backbone: BackboneEntry,
  options: JudgeModelOptions,
): Promise<PreparedModel> {
  const judged = await judgeModel(config, backbone, options);
  return judged.prepare();
}
