import { ConfigError, showValue, withoutCredentials, type ChatModel, type CommonConfig } from '@agentjet/core';
import { createChatModel, listServedModels, ModelOutage, ModelRefusal, type ChatServer } from '@agentjet/model-client';
import { type Policy, samplingDefaults } from '@agentjet/rollout';
import { kwargsOf } from './template-kwargs.js';

/** Opens a policy whose answers come from the endpoint at `debug.base_url`. */
export async function openEndpointPolicy(config: CommonConfig, baseUrl: string): Promise<Policy> {
  const model = await openEndpointModel(config, baseUrl);
  return {
    kind: 'chat',
    model: ({ agentName }) => {
      const kwargs = kwargsOf(config.model, agentName) ?? config.model.chatTemplateKwargs;
      if (Object.keys(kwargs).length === 0) return model;
      return {
        ...model,
        generate: (request, options) =>
          model.generate({ ...request, chatTemplateKwargs: { ...kwargs, ...request.chatTemplateKwargs } }, options),
      };
    },
  };
}

/**
 * Asks for `debug.model`, or for the first model that the endpoint lists. If a request leaves out a setting, the
 * endpoint's default applies.
 */
export async function openEndpointModel(config: CommonConfig, baseUrl: string): Promise<ChatModel> {
  const { apiKey, model, seed } = config.debug;
  const key = { value: apiKey ?? process.env['OPENAI_API_KEY'], name: 'debug.api_key or OPENAI_API_KEY' };
  const server: ChatServer = { baseUrl: checkUrl(baseUrl), key };
  const name = model ?? (await findFirstModel(server));
  const endpoint = createChatModel({
    ...server,
    name,
    describe: ({ message, reason }) => `${message}.${repairFor(reason.status, name)}`,
  });
  const defaults = { ...samplingDefaults(config), seed };
  return {
    name,
    generate: (request, options) =>
      endpoint.generate({ ...request, sampling: { ...defaults, ...request.sampling } }, options),
  };
}

function checkUrl(baseUrl: string): string {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return baseUrl;
  throw new ConfigError(
    'wrong_type',
    `"debug.base_url" is ${showValue('debug.base_url', baseUrl)}, but must be an address such as http://localhost:8000/v1.`,
  );
}

const keyRepair = 'Set debug.api_key, or the environment variable OPENAI_API_KEY, to a key that is valid there.';
const isRefusedKey = (status: number | undefined): boolean => status === 401 || status === 403;

/** Returns the repair for the endpoint's answer. */
function repairFor(status: number | undefined, model: string): string {
  if (status === undefined) return ' Check debug.base_url.';
  if (isRefusedKey(status)) return ` ${keyRepair}`;
  return status === 404 ? ` Does debug.base_url end as it should (often in /v1), and is there a model "${model}"?` : '';
}

async function findFirstModel(server: ChatServer): Promise<string> {
  const address = `The endpoint debug.base_url ${withoutCredentials(server.baseUrl)}`;
  const models = await listServedModels(server).catch((error: unknown) => {
    throw error instanceof ModelOutage || error instanceof ModelRefusal ? toConfigError(error, address) : error;
  });
  const [first] = models;
  if (first === undefined) throw new ConfigError('no_model', `${address} lists no model. ${nameRepair}`);
  return first;
}

const nameRepair = 'Set debug.model to the name of the model there.';

function toConfigError(error: ModelOutage | ModelRefusal, address: string): ConfigError {
  const { message, reason } = error;
  if (isRefusedKey(reason.status))
    return new ConfigError('refused', `${address} refuses the key: ${message}. ${keyRepair}`);
  if (error instanceof ModelOutage && reason.status === undefined)
    return new ConfigError(
      'unreachable',
      `${address} cannot be reached: ${message}. Start it, or correct the address.`,
      { cause: error },
    );
  return new ConfigError('no_model', `${address} lists no model: ${message}. ${nameRepair}`);
}
