import { createHash } from 'node:crypto';

/** A part of a document that questions are asked about. */
export type Chunk = {
  readonly text: string;
  /** Of the document, by its name. */
  readonly document: string;
  /** From 0. */
  readonly at: number;
  /** Of the text. */
  readonly sha256: string;
};

/** Less than this says too little to ask about. */
const leastLetters = 80;

/** Whole sentences, as many as fit into `chunkSize` characters; a longer sentence is cut. */
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
    .map((each, at) => ({ text: each, document, at, sha256: createHash('sha256').update(each).digest('hex') }));
}

function* sentencesOf(text: string, most: number): Generator<string> {
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'sentence' }).segment(text))
    for (let from = 0; from < segment.length; from += most) yield segment.slice(from, from + most);
}
