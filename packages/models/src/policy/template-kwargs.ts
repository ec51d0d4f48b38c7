import { type CommonConfig, ConfigError, findNearestKey, isJsonObject, type JsonObject } from '@agentjet/core';
import { type ChatTokenizer, reservedVariables } from '@agentjet/tokenizer';

/**
 * Variables of the chat template for the model, and for single agents. The variables of an agent override those of the
 * model.
 */
export type TemplateKwargs = Pick<CommonConfig['model'], 'chatTemplateKwargs' | 'agentChatTemplateKwargs'>;

/**
 * Returns the variables of an agent, together with those of the model. Returns undefined if the agent has no variables.
 */
export function kwargsOf(model: TemplateKwargs, agentName: string): JsonObject | undefined {
  const own = model.agentChatTemplateKwargs.filter(({ agent }) => agent === agentName);
  if (own.length === 0) return undefined;
  return own.reduce<JsonObject>((all, { kwargs }) => ({ ...all, ...kwargs }), { ...model.chatTemplateKwargs });
}

/** Throws ConfigError `unknown_variable` for a variable that the template does not read, or that a configuration must not set. */
export function withTemplateKwargs(chatTokenizer: ChatTokenizer, model: TemplateKwargs): ChatTokenizer {
  checkNames('"model.chat_template_kwargs"', model.chatTemplateKwargs, chatTokenizer);
  for (const { agent, kwargs } of model.agentChatTemplateKwargs)
    checkNames(`"model.agent_chat_template_kwargs" of agent "${agent}"`, kwargs, chatTokenizer);
  return withVariables(chatTokenizer, model.chatTemplateKwargs);
}

/** Returns the chat template of each agent that has its own variables. `base` has the variables of the model. */
export function chatsOfAgents(
  base: ChatTokenizer,
  model: TemplateKwargs,
): ((agent: { readonly agentName: string }) => ChatTokenizer | undefined) | undefined {
  if (model.agentChatTemplateKwargs.length === 0) return undefined;
  const names = new Set(model.agentChatTemplateKwargs.map(({ agent }) => agent));
  const chats = new Map([...names].map((name) => [name, withVariables(base, kwargsOf(model, name) ?? {})]));
  return ({ agentName }) => chats.get(agentName);
}

function withVariables(chatTokenizer: ChatTokenizer, kwargs: JsonObject): ChatTokenizer {
  return Object.keys(kwargs).length === 0 ? chatTokenizer : (chatTokenizer.withVariables?.(kwargs) ?? chatTokenizer);
}

function checkNames(key: string, kwargs: JsonObject, { template }: ChatTokenizer): void {
  const variables = template.variables ?? new Set<string>();
  for (const name of Object.keys(kwargs)) {
    if (reservedVariables.has(name))
      throw new ConfigError(
        'unknown_variable',
        `${key} sets "${name}", which the model's files or each request set. Remove it.`,
      );
    if (variables.has(name)) continue;
    const nearest = findNearestKey(name, [...variables]);
    const repair = nearest === undefined ? 'Remove it.' : `Did you mean "${nearest}"?`;
    throw new ConfigError(
      'unknown_variable',
      `${key} sets "${name}", which the chat template of this model does not read. ${repair}`,
    );
  }
}

/** How tools are shown to a model and how its calls are read. Missing fields have their default values. */
export type ToolSettings = Partial<Pick<CommonConfig['model'], 'tools' | 'toolCalls'>>;

/** Reads the tool settings from a parsed config.yaml. Older versions of the file have neither field. */
export function readToolSettings(config: unknown): ToolSettings {
  const { tools, tool_calls: toolCalls } = modelOf(config);
  return {
    ...((tools === 'system' || tools === 'refuse') && { tools }),
    ...(toolCalls === 'lenient' && { toolCalls }),
  };
}

function modelOf(config: unknown): JsonObject {
  const ajet = isJsonObject(config) && isJsonObject(config['ajet']) ? config['ajet'] : {};
  return isJsonObject(ajet['model']) ? ajet['model'] : {};
}

/** Returns the variables in a parsed config.yaml. */
export function readTemplateKwargs(config: unknown): TemplateKwargs {
  const model = modelOf(config);
  const { chat_template_kwargs: kwargs, agent_chat_template_kwargs: agents } = model;
  const own = (Array.isArray(agents) ? (agents as readonly unknown[]) : []).flatMap((entry) =>
    isJsonObject(entry) && typeof entry['agent'] === 'string' && isJsonObject(entry['kwargs'])
      ? [{ agent: entry['agent'], kwargs: entry['kwargs'] }]
      : [],
  );
  return { chatTemplateKwargs: isJsonObject(kwargs) ? kwargs : {}, agentChatTemplateKwargs: own };
}
