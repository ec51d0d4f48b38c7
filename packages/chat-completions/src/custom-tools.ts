import { parseJsonObject, type ToolSpec } from '@agentjet/core';
import { z } from 'zod';

/**
 * Custom tools take text, and functions take arguments. The chat templates of models support only functions. So the
 * model sees a custom tool as a function with one argument. In answers, a call of the tool has the text of that
 * argument.
 */

const argument = 'input';

export const customFields = {
  name: z.string(),
  description: z.string().nullish(),
  /** A grammar is not enforced, because sampling is not constrained. */
  format: z.looseObject({ type: z.string() }).nullish(),
};

export function toCustomSpec({ name, description }: z.infer<z.ZodObject<typeof customFields>>): ToolSpec {
  return {
    name,
    ...(typeof description === 'string' && { description }),
    parameters: { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] },
  };
}

export function toCustomArguments(input: string): string {
  return JSON.stringify({ [argument]: input });
}

/** Returns the text of a call. Arguments of another form are passed on unchanged, and the tool reports the mistake. */
export function readCustomInput(args: string): string {
  const input = parseJsonObject(args)?.[argument];
  return typeof input === 'string' ? input : args;
}
