import type { SamplingOptions } from '@agentjet/core';
import type { ModelOptions, Tuner } from '@agentjet/rollout';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { TunedChatModel } from './tuned-chat-model.js';

export type LangGraphModelOptions = ModelOptions<BaseChatModel> & {
  /** Sampling of all its calls; a call's own options go before it. */
  readonly sampling?: SamplingOptions;
};

/** What LangChain's `invoke`, `stream` and `batch` end in. */
const callMethods = ['_generate', '_streamResponseChunks', '_streamChatModelEvents'];

/** The model of one agent: the tuned one where its target learns, else `debugModel` itself. */
export function asTunedChatModel(
  tuner: Tuner,
  options: LangGraphModelOptions & { readonly debugModel?: never },
): TunedChatModel;
export function asTunedChatModel(tuner: Tuner, options: LangGraphModelOptions): BaseChatModel;
export function asTunedChatModel(tuner: Tuner, options: LangGraphModelOptions): BaseChatModel {
  return tuner.selectModel(options, (model) => new TunedChatModel(model, options.sampling), callMethods);
}
