import { type ChatRequest, EngineError, isJsonObject, type JsonObject } from '@agentjet/core';
import { type ChatTokenizer, reservedVariables } from '@agentjet/tokenizer';

/** The chat template of one call, and the names of options that have no effect. */
export type CallChat = { readonly chatTokenizer: ChatTokenizer; readonly ignored: readonly string[] };

/**
 * Returns the agent's template with the variables that the request sets. Throws EngineError `bad_request` for a
 * variable that a request must not set.
 */
export function chooseCallChat(
  chatTokenizer: ChatTokenizer,
  { chatTemplateKwargs = {}, thinkingOff }: ChatRequest,
): CallChat {
  const { template, withVariables } = chatTokenizer;
  if (!isJsonObject(chatTemplateKwargs))
    throw new EngineError(
      'bad_request',
      `chat_template_kwargs is ${JSON.stringify(chatTemplateKwargs)}, not an object such as { "enable_thinking": false }.`,
    );
  const reserved = Object.keys(chatTemplateKwargs).find((name) => reservedVariables.has(name));
  if (reserved !== undefined)
    throw new EngineError(
      'bad_request',
      `chat_template_kwargs sets "${reserved}", which the model's files or the request itself set. Leave it out.`,
    );
  const isKnown = (name: string): boolean => withVariables !== undefined && template.variables?.has(name) !== false;
  const named = Object.entries(chatTemplateKwargs).filter(([name]) => isKnown(name));
  const unknown = Object.keys(chatTemplateKwargs).filter((name) => !isKnown(name));
  const off = thinkingOff === undefined ? undefined : template.thinkingOff;
  const isUnheard = thinkingOff !== undefined && off === undefined && template.createAnswerText !== undefined;
  const variables: JsonObject = { ...off, ...Object.fromEntries(named) };
  return {
    chatTokenizer: Object.keys(variables).length === 0 ? chatTokenizer : (withVariables?.(variables) ?? chatTokenizer),
    ignored: [...unknown.map((name) => `chat_template_kwargs.${name}`), ...(isUnheard ? [thinkingOff] : [])],
  };
}
