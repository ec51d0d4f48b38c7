import type { ChatModel } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';

/** Returns the model of one agent: the tuned model if its target learns, and `debugModel` itself otherwise. */
export function asReActModel(tuner: Tuner, options: ModelOptions<ChatModel>): ChatModel {
  return tuner.selectModel(options, (model) => model, ['generate']);
}
