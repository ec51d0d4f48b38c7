import { createChatTokenizer } from '@agentjet/tokenizer';
import type { Recipe } from './recipe.js';
import { recordTranscripts } from './record-transcripts.js';
import { addedTokens, createTokenizerConfig, createTokenizerJson, wordRegExp } from './tokenizer-files.js';
import { type Merge, trainBpe } from './train-bpe.js';

const addedTokenPattern = new RegExp(addedTokens.map((token) => token.replace(/[|/]/g, '\\$&')).join('|'));

/**
 * Learns merges from transcripts that were recorded byte by byte. The vocabulary consists of bytes, merges and added
 * tokens.
 */
export async function learnMerges(recipe: Recipe): Promise<readonly Merge[]> {
  const { seed, contextLength, courses, vocabSize } = recipe;
  const chatTokenizer = createChatTokenizer({
    tokenizerJson: createTokenizerJson([]),
    tokenizerConfig: createTokenizerConfig(contextLength),
  });
  const texts: string[] = [];
  for (const course of courses) {
    const few = { ...course, numEpisodes: course.numSpelled };
    const { samples } = await recordTranscripts(few, { chatTokenizer, contextLength: Infinity, seed });
    texts.push(...samples.flatMap(({ ids }) => chatTokenizer.tokenizer.decode(ids).split(addedTokenPattern)));
  }
  const numMerges = vocabSize - 256 - addedTokens.length;
  return trainBpe(texts, { pattern: wordRegExp, numMerges });
}
