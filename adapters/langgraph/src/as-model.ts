import type { SamplingOptions } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { TunedChatModel } from './tuned-chat-model.js';

/** Options of `asModel`. */
export type LangGraphModelOptions = ModelOptions<BaseChatModel> & {
  /** Sampling for all calls of the model. A call's own options override it. */
  readonly sampling?: SamplingOptions;
};

/** The methods that LangChain's `invoke`, `stream` and `batch` finally call. */
const callMethods = ['_generate', '_streamResponseChunks', '_streamChatModelEvents'];

/** Returns the model of one agent: the tuned model if its target learns, and `debugModel` itself otherwise. */
export function asTunedChatModel(
  tuner: Tuner,
  options: LangGraphModelOptions & { readonly debugModel?: never },
): TunedChatModel;
export function asTunedChatModel(tuner: Tuner, options: LangGraphModelOptions): BaseChatModel;
export function asTunedChatModel(
  tuner: Tuner,
  // The default lets the tuner say that options are missing.
  { sampling, ...options }: LangGraphModelOptions = {} as LangGraphModelOptions,
): BaseChatModel {
  return tuner.selectModel(options, (model) => new TunedChatModel(model, sampling), callMethods);
}
