import type { SamplingOptions, ToolSpec } from '@agentjet/core';
import { z } from 'zod';
import { ApiError } from './api-error.js';

/** Fields that Chat Completions shares with OpenAI's other APIs. */

export const jsonObject = z.record(z.string(), z.unknown());

/** Fields that label a request and do not change its answer. */
export const labelFields = {
  user: z.string().optional(),
  metadata: z.unknown().optional(),
  store: z.boolean().optional(),
  service_tier: z.string().optional(),
  safety_identifier: z.string().optional(),
  prompt_cache_key: z.string().optional(),
  prompt_cache_retention: z.string().optional(),
  prompt_cache_options: z.unknown().optional(),
};

export const streamFields = {
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).optional(),
};

export const samplingFields = {
  temperature: z.number().min(0).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  top_k: z.number().int().min(-1).optional(),
  max_tokens: z.number().int().positive().optional(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(16)]).optional(),
  seed: z.number().int().optional(),
};

type AskedSampling = z.infer<z.ZodObject<typeof samplingFields>>;

export function toSampling({
  temperature,
  top_p: topP,
  top_k: topK,
  max_tokens: maxTokens,
  stop,
  seed,
}: AskedSampling): SamplingOptions {
  const asked = { temperature, topP, topK, maxTokens, stop: typeof stop === 'string' ? [stop] : stop, seed };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as SamplingOptions;
}

/** The fields of a function that the model may call. */
export const functionFields = {
  name: z.string(),
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
};

export function toToolSpec({ name, description, parameters }: z.infer<z.ZodObject<typeof functionFields>>): ToolSpec {
  return {
    name,
    ...(typeof description === 'string' && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  };
}

const part = z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });
export const content = z.union([z.string(), z.array(part)]);

type Part = {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
};

/**
 * Returns content as text: a string, or the joined parts. Throws ApiError 400 for parts without text: images, audio,
 * files. `parameter` is the name of the content in errors.
 */
export function toText(given: string | readonly Part[] | null | undefined, parameter = 'messages'): string {
  if (given === null || given === undefined) return '';
  return typeof given === 'string' ? given : given.map((shown) => toPartText(shown, parameter)).join('');
}

function toPartText({ type, text, refusal }: Part, parameter: string): string {
  const shown = text ?? refusal;
  if (typeof shown === 'string') return shown;
  throw new ApiError(
    400,
    'unsupported_content',
    `Content of type '${type}' without text is not supported: the model reads only text.`,
    parameter,
  );
}
