import { type ChatMessage, ConfigError, EngineError, type ToolSpec } from '@agentjet/core';
import type { RenderOptions } from '../contract.js';
import { hasSystemTools, type SystemToolsOptions, withSystemTools } from './system-tools.js';

/**
 * The values of `model.tools`. With `auto` the template prints the tools; if it does not support them, `auto` works as
 * `system`.
 */
export type ToolsSetting = 'auto' | 'system' | 'refuse';

/** How the tools of a request reach the model. */
export type ToolPrompt = {
  readonly source: string;
  readonly sourceWithTools?: string;
  /** Whether `source` differs from the model's own template, so that written folders must contain it. */
  readonly isChanged: boolean;
  /** Whether the source writes tools in the format of Hermes, so that calls have that format too. */
  readonly isHermes: boolean;
  /** Whether requests with tools are refused. */
  readonly isRefused: boolean;
  /** A notice that is given at the first request with tools. */
  readonly notice?: string;
};

type Print = (messages: readonly ChatMessage[], options: RenderOptions) => string;

export type ToolPromptOptions = {
  readonly source: string;
  readonly sourceWithTools?: string;
  readonly setting: ToolsSetting;
  /** The family that the configuration names. Undefined: the family is detected from the template. */
  readonly family: string | undefined;
  /** Compiles a template of the model. */
  readonly compile: (source: string) => Print;
};

/**
 * Throws ConfigError `wrong_value` if the setting is `system` and the named family cannot parse the calls that `system`
 * asks for.
 */
export function chooseToolPrompt(options: ToolPromptOptions): ToolPrompt {
  const { source, sourceWithTools, setting, family } = options;
  const readsHermes = family === undefined || family === 'hermes';
  if (setting === 'system' && !readsHermes)
    throw new ConfigError(
      'wrong_value',
      `"model.tools" is "system", which writes tool calls in the format of the family hermes, but "model.template_family" is "${family}". Remove one of the two.`,
    );
  const own = { source, ...(sourceWithTools !== undefined && { sourceWithTools }) };
  const asItIs = { ...own, isChanged: false, isRefused: false, isHermes: hasSystemTools(source) };
  if (asItIs.isHermes) return asItIs;
  const plain = options.compile(source);
  const printsCalls = shows(plain, [question, call], [argumentText]);
  // If the model has a separate template for tools, that template supports them.
  const missing = sourceWithTools === undefined ? (findMissingTools(plain) ?? findMissingCalls(plain)) : undefined;
  if (setting !== 'system' && missing === undefined) return asItIs;
  if (setting === 'refuse') return { ...asItIs, isRefused: true };
  if (!readsHermes)
    return {
      ...asItIs,
      notice: `The chat template of this model does not support ${missing}, and "model.template_family" is "${family}", so the model does not see them. Set model.template_family=auto to write them into the system prompt, or model.tools=refuse to refuse such requests.`,
    };
  const { place, defaultSystem } = findPlace(plain);
  const where = place === 'system' ? 'the system prompt' : 'the first message of the user';
  return {
    source: withSystemTools(source, { place, defaultSystem, printsCalls }),
    isChanged: true,
    isHermes: true,
    isRefused: false,
    ...(setting === 'auto' && {
      notice: `The chat template of this model does not support ${missing}. Tools are written into ${where}, and calls are parsed in the format of Hermes (<tool_call>). Checkpoints and exports contain the changed template. To keep this and not see this notice, set model.tools=system. To refuse requests with tools, set model.tools=refuse.`,
    }),
  };
}

const question: ChatMessage = { role: 'user', content: 'x' };
const systemText = 'text-of-the-system-prompt';
const system: ChatMessage = { role: 'system', content: systemText };
const tool: ToolSpec = { name: 'name_of_a_tool', description: 'y', parameters: { type: 'object', properties: {} } };
const argumentText = 'argument-of-a-call';
const resultText = 'text-of-a-result';
const call = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'call00001', name: 'name_of_a_call', arguments: `{"a": "${argumentText}"}` }],
} as const;
const result: ChatMessage = { role: 'tool', content: resultText, toolCallId: 'call00001', name: 'name_of_a_call' };

/**
 * Returns what the template silently leaves out of a conversation. Returns undefined if it leaves out nothing, or if it
 * refuses the conversation.
 */
function findMissingTools(print: Print): string | undefined {
  const isShown = [[question], [system, question]].every((messages) => shows(print, messages, [tool.name]));
  return isShown ? undefined : 'tools';
}

function findMissingCalls(print: Print): string | undefined {
  const messages = [question, call, result];
  if (!shows(print, messages, [call.toolCalls[0].name, argumentText])) return 'tool calls';
  return shows(print, messages, [resultText]) ? undefined : 'results of tools';
}

function shows(print: Print, messages: readonly ChatMessage[], texts: readonly string[]): boolean {
  const printed = tryPrint(print, messages, [tool]);
  return printed === undefined || texts.every((text) => printed.includes(text));
}

/**
 * Decides where the tools are written. If the template refuses or drops system messages, they are written before the
 * first question.
 */
function findPlace(plain: Print): Pick<SystemToolsOptions, 'place' | 'defaultSystem'> {
  const withSystem = tryPrint(plain, [system, question], []);
  const at = withSystem?.indexOf(systemText) ?? -1;
  if (withSystem === undefined || at === -1) return { place: 'question', defaultSystem: '' };
  const without = tryPrint(plain, [question], []) ?? '';
  const [lead, rest] = [withSystem.slice(0, at), withSystem.slice(at + systemText.length)];
  const isDefault = without.startsWith(lead) && without.endsWith(rest) && without.length >= lead.length + rest.length;
  return { place: 'system', defaultSystem: isDefault ? without.slice(lead.length, without.length - rest.length) : '' };
}

function tryPrint(print: Print, messages: readonly ChatMessage[], tools: readonly ToolSpec[]): string | undefined {
  try {
    return print(messages, { tools, addGenerationPrompt: true });
  } catch {
    return undefined; // a later rendering of such a conversation reports why the template refuses it
  }
}

/** Throws EngineError `bad_request` if the request has tools, calls or results, which the template would leave out. */
export function refuseTools(messages: readonly ChatMessage[], tools: readonly ToolSpec[]): void {
  const isFree = ({ role, ...message }: ChatMessage): boolean =>
    role !== 'tool' && !('toolCalls' in message && (message.toolCalls ?? []).length > 0);
  if (tools.length === 0 && messages.every(isFree)) return;
  throw new EngineError(
    'bad_request',
    'The chat template of this model does not support tools, and "model.tools" is "refuse". Send no tools, set model.tools=system to write them into the system prompt, or use a model whose template supports tools.',
  );
}
