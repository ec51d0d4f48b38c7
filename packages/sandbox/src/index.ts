export {
  SandboxError,
  type CodeLimits,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
  type Language,
} from './code-runner.js';
export { openCodeRunner, sandboxKinds, type RunnerOptions } from './open-runner.js';
