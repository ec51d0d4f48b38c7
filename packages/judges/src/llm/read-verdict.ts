import { parseJson, z } from '@agentjet/core';
import { withoutThoughts } from '../answer/find-answer.js';

/** A verdict, or what is wrong with the text, in words for the model. */
export type ReadVerdict = { readonly score: number; readonly reason: string } | { readonly mistake: string };

/**
 * Reads a verdict that is the whole message, optionally inside one code fence and after thoughts. Surrounding text,
 * additional properties, another code and scores outside the scale are refused, because nothing may be guessed from a
 * message that is not a verdict.
 */
export function readVerdict(
  text: string,
  { code, scale }: { readonly code: string; readonly scale: number },
): ReadVerdict {
  const shape = z.strictObject({ code: z.literal(code), reason: z.string(), score: z.number().min(0).max(scale) });
  const parsed = shape.safeParse(readJsonMessage(text));
  if (parsed.success) return { score: parsed.data.score, reason: parsed.data.reason };
  const [issue] = parsed.error.issues;
  return { mistake: `${issue?.path.join('.') || 'the message'}: ${issue?.message ?? 'not a verdict'}` };
}

/** The JSON of a whole message, perhaps inside one code fence and after thoughts; undefined if it is anything else. */
export function readJsonMessage(text: string): unknown {
  const said = withoutThoughts(text).trim();
  return parseJson(/^```(?:json)?\s*([\s\S]*?)\s*```$/.exec(said)?.[1] ?? said);
}
