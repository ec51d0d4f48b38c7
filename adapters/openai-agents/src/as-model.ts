import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { Model } from '@openai/agents';
import { TunedAgentsModel } from './tuned-agents-model.js';

/**
 * Returns the model of one agent for `new Agent({ model })`: the tuned model if its target learns, and `debugModel`
 * itself otherwise.
 */
export function asAgentsModel<M extends Model | string = Model>(tuner: Tuner, options: ModelOptions<M>): Model | M {
  return tuner.selectModel<Model | M>(options, (model) => new TunedAgentsModel(model), [
    'getResponse',
    'getStreamedResponse',
  ]);
}
