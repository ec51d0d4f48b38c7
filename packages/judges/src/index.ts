export { createAnswerJudge } from './answer/answer-judge.js';
export { createCountdownJudge } from './countdown/countdown-judge.js';
export { createEnvironmentJudge } from './environment/environment-judge.js';
export { createLlmJudge, type LlmJudgeOptions } from './llm/llm-judge.js';
export { createTestsJudge } from './tests/tests-judge.js';
export { createRubricsJudge } from './rubrics/rubrics-judge.js';
export { learnRubrics } from './rubrics/learn-rubrics.js';
export { calibrateJudge, type Calibration } from './calibration/calibrate-judge.js';
export { readLabelledExamples } from './calibration/labelled-examples.js';
