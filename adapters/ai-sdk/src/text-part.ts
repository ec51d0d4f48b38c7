import { EngineError } from '@agentjet/core';
import { UnsupportedFunctionalityError } from '@ai-sdk/provider';

type Part = { readonly type: string; readonly text?: unknown; readonly mediaType?: unknown };

/** Returns the text of a part of a user's message. Throws, with the kind of the part, if the part is not text. */
export function textOfPart(part: Part): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text;
  const kind =
    typeof part.mediaType === 'string'
      ? `${part.type} of type ${part.mediaType}`
      : `part ${JSON.stringify(part).slice(0, 200)}`;
  throw new UnsupportedFunctionalityError({
    functionality: kind,
    message: `A ${kind} cannot be shown to the model: it reads only text.`,
  });
}

/** Returns the parts of a message. Throws EngineError `bad_request` if the content is not a list of parts. */
export function checkParts<P extends object>(content: readonly P[], role: string): readonly P[] {
  const given: unknown = content;
  const isPart = (part: unknown): boolean => typeof part === 'object' && part !== null;
  if (Array.isArray(given) && given.every(isPart)) return content;
  throw new EngineError(
    'bad_request',
    `The content of a ${role} message is ${JSON.stringify(given)?.slice(0, 200) ?? 'missing'}. A prompt of the AI SDK has a list of parts there, such as { type: 'text', text }.`,
  );
}
