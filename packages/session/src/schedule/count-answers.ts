/**
 * For the metrics of a step: answers of the models that learn (`answers`), and those of them that the token limit cut (`cut_answers`).
 */
export function countAnswers(
  episodes: readonly { readonly turns: readonly { readonly isTruncated: boolean }[] }[],
): Readonly<Record<'answers' | 'cut_answers', number>> {
  const turns = episodes.flatMap((episode) => episode.turns);
  return { answers: turns.length, cut_answers: turns.filter(({ isTruncated }) => isTruncated).length };
}
