export {
  SandboxError,
  type CodeLimits,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
  type Language,
} from './code-runner.js';
export { openCodeRunner } from './open-runner.js';
