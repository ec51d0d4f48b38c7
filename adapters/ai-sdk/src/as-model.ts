import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { TunedLanguageModel } from './tuned-language-model.js';

/**
 * The model of one agent: the tuned one where its target learns, else `debugModel` itself, which may be of any version
 * that the SDK in use takes.
 */
export function asLanguageModel<M = LanguageModelV3>(tuner: Tuner, options: ModelOptions<M>): LanguageModelV3 | M {
  return tuner.selectModel<LanguageModelV3 | M>(options, (model) => new TunedLanguageModel(model), [
    'doGenerate',
    'doStream',
  ]);
}
