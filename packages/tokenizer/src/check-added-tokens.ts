import { BackboneError, isJsonObject, textConfigOf, type JsonObject } from '@agentjet/core';

type AddedToken = { readonly id: number; readonly content: string; readonly special: boolean };

/**
 * Throws BackboneError `bad_model_files` if a token has no embedding and can be in prompts. A token can be in prompts
 * if text can be encoded as this token, or if the template prints it. A special token that the template does not print,
 * such as an added padding token, is harmless.
 */
export function checkAddedTokens(
  tokenizerJson: JsonObject,
  { config, template, file }: { readonly config: JsonObject; readonly template: string; readonly file: string },
): void {
  const { vocab_size: vocabSize } = textConfigOf(config);
  if (typeof vocabSize !== 'number') return;
  const beyond = readAddedTokens(tokenizerJson).find(
    ({ id, content, special }) => id >= vocabSize && (!special || template.includes(content)),
  );
  if (beyond === undefined) return;
  throw new BackboneError(
    'bad_model_files',
    `${file} adds the token "${beyond.content}" with id ${beyond.id}, but the model has embeddings only for ids below ${vocabSize} (vocab_size of config.json). ` +
      'Call resize_token_embeddings(len(tokenizer)) of transformers on the model and save it, or remove the token.',
  );
}

function readAddedTokens(tokenizerJson: JsonObject): readonly AddedToken[] {
  const added = tokenizerJson['added_tokens'];
  if (!Array.isArray(added)) return [];
  return added.flatMap((token: unknown) => {
    if (!isJsonObject(token) || typeof token['id'] !== 'number' || typeof token['content'] !== 'string') return [];
    return [{ id: token['id'], content: token['content'], special: token['special'] === true }];
  });
}
