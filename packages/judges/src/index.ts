export { createAnswerJudge, type AnswerOptions } from './answer/answer-judge.js';
export type { CompareOptions } from './answer/compare-answers.js';
export type { Comparison } from './answer/comparisons.js';
export { createCountdownJudge, type CountdownOptions } from './countdown/countdown-judge.js';
export { createEnvironmentJudge, type EnvironmentJudgeOptions } from './environment/environment-judge.js';
export { createLlmJudge, type LlmJudgeOptions } from './llm/llm-judge.js';
export { createTestsJudge, type TestsOptions } from './tests/tests-judge.js';
