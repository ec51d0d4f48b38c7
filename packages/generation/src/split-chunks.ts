import { sha256 } from '@agentjet/core';

/** A part of a document, about which the model writes questions. */
export type Chunk = {
  readonly text: string;
  /** The name of the document. */
  readonly document: string;
  /** The number of the chunk in the document, from 0. */
  readonly at: number;
  /** The hash of the text. */
  readonly sha256: string;
};

/** The minimum number of letters in a chunk. A shorter chunk has too little content for a question. */
const leastLetters = 80;

/** Splits text into chunks of whole sentences of at most `chunkSize` characters. A longer sentence is cut. */
export function splitChunks(document: string, text: string, chunkSize: number): readonly Chunk[] {
  const parts: string[] = [];
  let part = '';
  for (const sentence of sentencesOf(text, chunkSize)) {
    if (part !== '' && part.length + sentence.length > chunkSize) {
      parts.push(part);
      part = '';
    }
    part += sentence;
  }
  parts.push(part);
  return parts
    .map((each) => each.trim())
    .filter((each) => (each.match(/\p{L}/gu)?.length ?? 0) >= leastLetters)
    .map((each, at) => ({ text: each, document, at, sha256: sha256(each) }));
}

function* sentencesOf(text: string, most: number): Generator<string> {
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text))
    for (let from = 0; from < segment.length; from += most) yield segment.slice(from, from + most);
}
