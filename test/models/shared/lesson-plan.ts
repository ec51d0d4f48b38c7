/**
 * In `copying`, pieces of random tokens are repeated. In `reading`, whole transcripts are learned as text. In
 * `answering`, only the teacher's words are learned.
 */
export type LessonPlan = {
  readonly lesson: 'copying' | 'reading' | 'answering';
  readonly numSteps: number;
  /** Row tokens per optimizer step, before sharing. */
  readonly tokensPerStep: number;
};
