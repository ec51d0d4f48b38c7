import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { TunedLanguageModel } from './tuned-language-model.js';

/**
 * Returns the model of one agent: the tuned model if its target learns, and `debugModel` itself otherwise. The debug
 * model may have any version that the installed SDK accepts.
 */
export function asLanguageModel<M = LanguageModelV3>(tuner: Tuner, options: ModelOptions<M>): LanguageModelV3 | M {
  return tuner.selectModel<LanguageModelV3 | M>(options, (model) => new TunedLanguageModel(model), [
    'doGenerate',
    'doStream',
  ]);
}
