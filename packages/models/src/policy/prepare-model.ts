import type { CommonConfig } from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import { judgeModel, type JudgeModelOptions, type PreparedModel } from './judge-model.js';

export type { PreparedModel } from './judge-model.js';

/**
 * The folder of the job's model, which is downloaded if it is missing. Call it before anything is opened or written. A
 * model that does not fit is refused before its weights are downloaded: BackboneError `not_enough_memory`.
 */
export async function prepareModel(
  config: CommonConfig,
  backbone: BackboneEntry,
  options: JudgeModelOptions,
): Promise<PreparedModel> {
  const judged = await judgeModel(config, backbone, options);
  return judged.prepare();
}
