import {
  type LanguageModelV3FilePart,
  type LanguageModelV3TextPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';

/** The text of a part; other parts are refused by name. */
export function toText(part: LanguageModelV3TextPart | LanguageModelV3FilePart): string {
  if (part.type === 'text') return part.text;
  throw new UnsupportedFunctionalityError({
    functionality: `file of type ${part.mediaType}`,
    message: `A file of type ${part.mediaType} cannot be shown to the model: it reads text only.`,
  });
}
