import { type ChatModel, ConfigError, showValue, type CommonConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { samplingDefaults } from '../rollout/sampling-defaults.js';
import { kwargsOf } from '../policy/template-kwargs.js';
import { createEndpointModel } from './endpoint-model.js';

function checkUrl(baseUrl: string): string {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return baseUrl;
  throw new ConfigError(
    'wrong_type',
    `"debug.base_url" is ${showValue('debug.base_url', baseUrl)}, but must be an address such as http://localhost:8000/v1.`,
  );
}

/** Answers from the endpoint at `debug.base_url`. */
export async function openEndpointPolicy(config: CommonConfig, baseUrl: string): Promise<Policy> {
  const { debug } = config;
  const apiKey = debug.apiKey ?? process.env['OPENAI_API_KEY'];
  const sampling = { ...samplingDefaults(config), seed: debug.seed };
  const model = await createEndpointModel({ baseUrl: checkUrl(baseUrl), apiKey, model: debug.model, sampling });
  const { chatTemplateKwargs, agentChatTemplateKwargs } = config.model;
  if (Object.keys(chatTemplateKwargs).length === 0 && agentChatTemplateKwargs.length === 0)
    return { kind: 'chat', model };
  const ofAgent = ({ agentName }: { readonly agentName: string }): ChatModel => {
    const kwargs = kwargsOf(config.model, agentName) ?? chatTemplateKwargs;
    return {
      ...model,
      generate: (request, options) =>
        model.generate({ ...request, chatTemplateKwargs: { ...kwargs, ...request.chatTemplateKwargs } }, options),
    };
  };
  return { kind: 'chat', model: ofAgent };
}
