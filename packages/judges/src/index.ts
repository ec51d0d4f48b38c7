export { createAnswerJudge, type AnswerOptions } from './answer/answer-judge.js';
export { type CompareOptions, type Comparison } from './answer/compare-answers.js';
export { createCountdownJudge, type CountdownOptions } from './countdown/countdown-judge.js';
export { createLlmJudge, type LlmJudgeOptions } from './llm/llm-judge.js';
