import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Finds sentences of documents by the words of a query. Rare words have more weight (inverse document frequency). */
type Entry = { readonly text: string; readonly words: ReadonlySet<string> };

export type Library = {
  /** Returns the best sentences, each after the title of its document; at most `count`. */
  search(query: string, count?: number): readonly string[];
};

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

function readPage(page: string): readonly Entry[] {
  const [title = '', ...rest] = page.trim().split('\n');
  const name = title.replace(/^#\s*/, '');
  const sentences = rest.join(' ').match(/[^.]+\./g) ?? [];
  return sentences.map((sentence) => {
    const text = `${name}: ${sentence.trim()}`;
    return { text, words: new Set(wordsOf(text)) };
  });
}

/** The pages are in Markdown. The first line is the title. */
export function openLibrary(pages: readonly string[]): Library {
  const entries = pages.flatMap(readPage);
  const counts = new Map<string, number>();
  for (const { words } of entries) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const weigh = (word: string): number => Math.log(1 + entries.length / (counts.get(word) ?? entries.length));
  return {
    search(query, count = 2) {
      const wanted = new Set(wordsOf(query));
      const scored = entries.map(({ text, words }) => ({
        text,
        score: [...wanted].reduce((sum, word) => sum + (words.has(word) ? weigh(word) : 0), 0),
      }));
      return scored
        .filter(({ score }) => score > 0)
        .toSorted((a, b) => b.score - a.score)
        .slice(0, count)
        .map(({ text }) => text);
    },
  };
}

/** Returns all pages of a folder, ordered by name. */
export function readLibrary(folder: string): Library {
  const files = readdirSync(folder).toSorted();
  return openLibrary(files.map((file) => readFileSync(path.join(folder, file), 'utf8')));
}
