export {
  SandboxError,
  type CodeLimits,
  type CodeOptions,
  type CodeResult,
  type CodeRunner,
  type Dialogue,
  type DialogueResult,
  type Language,
  type SideResult,
} from './code-runner.js';
export { openCodeRunner, sandboxKinds, type RunnerOptions } from './open-runner.js';
