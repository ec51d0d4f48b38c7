/**
 * For the metrics of a step: answers of the models that learn (`answers`), and those of them that the token limit cut (`answers_cut`).
 */
export function countAnswers(
  episodes: readonly { readonly turns: readonly { readonly isTruncated: boolean }[] }[],
): Readonly<Record<'answers' | 'answers_cut', number>> {
  const turns = episodes.flatMap((episode) => episode.turns);
  return { answers: turns.length, answers_cut: turns.filter(({ isTruncated }) => isTruncated).length };
}
