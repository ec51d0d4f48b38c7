import { ConfigError, showValue, type CommonConfig } from '@agentjet/core';
import type { Policy } from '@agentjet/rollout';
import { samplingDefaults } from '../rollout/sampling-defaults.js';
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
  return { kind: 'chat', model };
}
