import { isJsonObject, type JsonObject } from '@agentjet/core';

/**
 * Limits for the largest id. Vocabularies may have gaps from removed tokens. But tables have the length of the largest
 * id, so they must stay small.
 */
const maxGapFactor = 2;
const maxGap = 1_000;

/** Throws an Error for a token whose id is not a whole number, or is far above the number of tokens. */
export function checkTokenIds(tokenizerJson: JsonObject): void {
  const tokens = [...vocabularyOf(tokenizerJson['model']), ...addedTokensOf(tokenizerJson['added_tokens'])];
  const limit = maxGapFactor * tokens.length + maxGap;
  for (const [token, id] of tokens) {
    if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < limit) continue;
    throw new Error(
      `it gives the token ${JSON.stringify(token)} the id ${JSON.stringify(id)}, but has only ${tokens.length} tokens`,
    );
  }
}

type Token = readonly [content: unknown, id: unknown];

/** Returns the vocabulary of a model. Models of other kinds store it as a list, in which the position is the id. */
function vocabularyOf(model: unknown): readonly Token[] {
  const vocab = isJsonObject(model) ? model['vocab'] : undefined;
  if (Array.isArray(vocab)) return vocab.map((_entry, id) => ['', id]);
  return isJsonObject(vocab) ? Object.entries(vocab) : [];
}

function addedTokensOf(added: unknown): readonly Token[] {
  return Array.isArray(added) ? added.filter(isJsonObject).map(({ content, id }) => [content, id]) : [];
}
