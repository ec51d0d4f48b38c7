import { z } from 'zod';
import { text } from './ranges.js';
import { setting } from './setting.js';

const kwargs = z.record(z.string(), z.unknown());

/** Which model, how it is prompted, and what its size may ask for. */
export const model = z.strictObject({
  path: setting(
    text,
    'nano',
    'a folder in the Hugging Face layout; a model of the hub, e.g. Qwen/Qwen2.5-0.5B-Instruct (or name@revision); or nano or micro, the tiny models of @agentjet/nano and @agentjet/micro',
    {
      path: 'model',
    },
  ),
  chat_template_kwargs: setting(
    kwargs,
    {},
    'variables of the chat template, e.g. { enable_thinking: false }; a request may name its own; an export keeps them as defaults',
  ),
  agent_chat_template_kwargs: setting(
    z.array(z.strictObject({ agent: text, kwargs })),
    [],
    'the same for single agents, e.g. [{ agent: judge, kwargs: { enable_thinking: false } }]',
  ),
  memory_check: setting(
    z.enum(['refuse', 'warn']),
    'refuse',
    'a model that needs more memory than there is: refuse (before the start) | warn; `ajet model check` tells more',
  ),
});
