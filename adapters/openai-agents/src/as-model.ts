import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { Model } from '@openai/agents';
import { TunedModel } from './tuned-model.js';

/** The model of one agent, for `new Agent({ model })`: the tuned one where its target learns, else `debugModel` itself. */
export function asModel<M extends Model | string = Model>(tuner: Tuner, options: ModelOptions<M>): Model | M {
  return tuner.selectModel<Model | M>(options, (model) => new TunedModel(model), [
    'getResponse',
    'getStreamedResponse',
  ]);
}
