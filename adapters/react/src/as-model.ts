import type { ChatModel } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';

/** The model of one agent: the tuned one where its target learns, else `debugModel` itself. */
export function asReActModel(tuner: Tuner, options: ModelOptions<ChatModel>): ChatModel {
  return tuner.selectModel(options, (model) => model, ['generate']);
}
