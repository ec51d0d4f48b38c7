/**
 * A lesson of the model. In `copying`, it learns to repeat pieces of random tokens. In `reading`, it learns whole
 * transcripts as text. In `answering`, it learns only the teacher's words.
 */
export type LessonPlan = {
  readonly lesson: 'copying' | 'reading' | 'answering';
  readonly numSteps: number;
  /** Row tokens per optimizer step, before sharing. */
  readonly tokensPerStep: number;
};
