import { hermes } from './families/hermes/registration.js';
import { llama3 } from './families/llama3/registration.js';
import { none } from './families/none/registration.js';
import { qwen3Coder } from './families/qwen3-coder/registration.js';

export { defineTemplateFamily, type TemplateFamily } from './families/template-family.js';

/** Every chat-template family. The first family that recognizes a template parses its replies. */
export const templates = [hermes, llama3, qwen3Coder, none] as const;
