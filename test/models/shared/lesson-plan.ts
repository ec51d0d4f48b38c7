/** `copying`: pieces of random tokens are repeated. `reading`: whole transcripts are learned as text. `answering`: only what the teacher wrote. */
export type LessonPlan = {
  readonly lesson: 'copying' | 'reading' | 'answering';
  readonly numSteps: number;
  /** Row tokens per optimizer step, before sharing. */
  readonly tokensPerStep: number;
};
