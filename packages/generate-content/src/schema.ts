import { jsonObject, samplingFields } from '@agentjet/chat-completions';
import { namesInside } from '@agentjet/core/parameters';
import { z } from 'zod';

const functionCall = z.looseObject({ id: z.string().optional(), name: z.string(), args: jsonObject.optional() });
const functionResponse = z.looseObject({
  id: z.string().optional(),
  name: z.string(),
  response: jsonObject.optional(),
});
const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  functionCall: functionCall.optional(),
  functionResponse: functionResponse.optional(),
});
const content = z.looseObject({
  role: z.enum(['user', 'model', 'function', 'system']).optional(),
  parts: z.array(part).optional(),
});
export type GeminiPart = z.infer<typeof part>;
export type Content = z.infer<typeof content>;

const functionDeclaration = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  parameters: jsonObject.optional(),
  parametersJsonSchema: jsonObject.optional(),
});
const tool = z.looseObject({ functionDeclarations: z.array(functionDeclaration).optional() });
export type FunctionDeclaration = z.infer<typeof functionDeclaration>;

/** Makes an object that has these fields, and those that the table of parameters accepts at this place. */
function fieldsAt<S extends z.ZodRawShape>(place: string, shape: S) {
  const accepted = [...namesInside('gemini', place)].map((name) => [name, z.unknown().optional()] as const);
  return z.strictObject({ ...(Object.fromEntries(accepted) as Record<never, never>), ...shape });
}

const thinkingConfig = fieldsAt('generationConfig.thinkingConfig', { includeThoughts: z.boolean().optional() });

const generationConfig = fieldsAt('generationConfig', {
  temperature: samplingFields.temperature,
  topP: samplingFields.top_p,
  topK: samplingFields.top_k,
  maxOutputTokens: samplingFields.max_tokens,
  seed: samplingFields.seed,
  stopSequences: z.array(z.string().min(1)).optional(),
  candidateCount: z.number().int().min(1).max(128).optional(),
  responseMimeType: z.enum(['text/plain', 'application/json']).optional(),
  responseSchema: jsonObject.optional(),
  responseJsonSchema: jsonObject.optional(),
  responseLogprobs: z.boolean().optional(),
  thinkingConfig: thinkingConfig.optional(),
});

const functionCallingConfig = fieldsAt('toolConfig.functionCallingConfig', {
  mode: z.enum(['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']).optional(),
  allowedFunctionNames: z.array(z.string()).optional(),
});

/**
 * All parameters of Gemini's generateContent that are honoured. The table in core's PARAMETERS.md says which others are
 * ignored. All the rest are refused.
 */
export const generateContentSchema = z.strictObject({
  model: z.string(),
  contents: z.array(content).min(1),
  systemInstruction: content.optional(),
  tools: z.array(tool).optional(),
  toolConfig: fieldsAt('toolConfig', { functionCallingConfig: functionCallingConfig.optional() }).optional(),
  generationConfig: generationConfig.optional(),
  chatTemplateKwargs: jsonObject.optional(),
});
export type GenerateContentBody = z.infer<typeof generateContentSchema>;
