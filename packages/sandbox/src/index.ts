export {
  languages,
  SandboxError,
  type CodeLimits,
  type CodeResult,
  type CodeRunner,
  type DialogueResult,
  type Language,
  type Mechanism,
  type SideResult,
} from './code-runner.js';
export { openCodeRunner } from './open-runner.js';
