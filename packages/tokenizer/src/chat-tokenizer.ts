import { BackboneError, ConfigError, type JsonObject, toErrorMessage } from '@agentjet/core';
import { createChatTemplate } from './chat-template.js';
import type { ChatTemplate, ChatTokenizer, Tokenizer } from './contract.js';
import { createHfTokenizer } from './hf-tokenizer.js';
import { templates } from './registrations.js';
import { compileTemplate, renderMessages } from './render-messages.js';
import type { ReplyFormatOptions } from './reply/reply-format.js';
import { chooseToolPrompt, type ToolPrompt, type ToolsSetting } from './tools/tool-prompt.js';
import { createToolWatch, type ToolCallsSetting } from './tools/tool-watch.js';

/** Content of a model folder's files, and settings from outside. */
export type ChatTokenizerOptions = {
  readonly tokenizerJson: JsonObject;
  readonly tokenizerConfig: JsonObject;
  readonly generationConfig?: JsonObject;
  /** Content of chat_template.jinja. It takes precedence over the chat_template of tokenizer_config.json. */
  readonly chatTemplate?: string;
  /** Additional variables of the template, such as `enable_thinking`. */
  readonly templateVariables?: JsonObject;
  /** Overrides the format that is detected from the template. */
  readonly replyFormat?: ReplyFormatOptions;
  /** How the tools of a request reach the model. Default: `auto`. */
  readonly tools?: ToolsSetting;
  /** Whether calls without their tags are also parsed. Default: `strict`. */
  readonly toolCalls?: ToolCallsSetting;
  /** Called once with each notice for users about the template and the model's tool calls. */
  readonly onNotice?: ((message: string) => void) | undefined;
};

/** Returns the tokens with which the families end a turn. They are used if the model's files name no such token. */
function turnEndsOf({ replyFormat }: ChatTokenizerOptions): readonly string[] {
  const given = replyFormat?.toolCalls;
  const families = typeof given === 'object' ? [...templates, given] : templates;
  return [...new Set(families.flatMap(({ turnEnds }) => turnEnds))];
}

export function badModelFiles(message: string, cause?: unknown): BackboneError {
  return new BackboneError('bad_model_files', message, { cause });
}

/** Returns the text of a special token. The files contain it as a string, or as an object with a `content`. */
function readTokenText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const content: unknown =
    typeof value === 'object' && value !== null && 'content' in value ? value.content : undefined;
  return typeof content === 'string' ? content : undefined;
}

function readTemplates({ chatTemplate, tokenizerConfig }: ChatTokenizerOptions): {
  source: string;
  sourceWithTools?: string;
} {
  if (chatTemplate !== undefined) return { source: chatTemplate };
  const written = tokenizerConfig['chat_template'];
  if (typeof written === 'string') return { source: written };
  const named = new Map<unknown, unknown>(
    (Array.isArray(written) ? written : []).map((entry: { name?: unknown; template?: unknown }) => [
      entry.name,
      entry.template,
    ]),
  );
  const source = named.get('default');
  const sourceWithTools = named.get('tool_use');
  if (typeof source !== 'string')
    throw badModelFiles(
      'The model has no chat template: tokenizer_config.json has no "chat_template" and there is no chat_template.jinja. Take an instruction-tuned model, or add a template to its folder.',
    );
  return typeof sourceWithTools === 'string' ? { source, sourceWithTools } : { source };
}

function readStopIds(options: ChatTokenizerOptions, template: string, tokenizer: Tokenizer): readonly number[] {
  const { tokenizerConfig, generationConfig } = options;
  const eos = readTokenText(tokenizerConfig['eos_token']);
  const fromTemplate = turnEndsOf(options)
    .filter((token) => template.includes(token))
    .map((token) => tokenizer.idOf(token));
  const generated: unknown = generationConfig?.['eos_token_id'];
  const ids = [
    ...fromTemplate,
    eos === undefined ? undefined : tokenizer.idOf(eos),
    ...(Array.isArray(generated) ? (generated as unknown[]) : [generated]),
  ];
  const stopIds = [...new Set(ids.filter((id) => typeof id === 'number'))];
  if (stopIds.length === 0)
    throw badModelFiles(
      'The model has no end-of-turn token: neither "eos_token" of tokenizer_config.json nor "eos_token_id" of generation_config.json names a token of its vocabulary. Set one of them.',
    );
  return stopIds;
}

function orBadFile<T>(file: string, create: () => T): T {
  try {
    return create();
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
    throw badModelFiles(
      `${file} cannot be used: ${toErrorMessage(thrown)}. Download the model's files again, or take a model with a byte-level BPE tokenizer.`,
      thrown,
    );
  }
}

function readVariables({ tokenizerConfig, templateVariables }: ChatTokenizerOptions): JsonObject {
  const tokens = ['bos_token', 'eos_token', 'pad_token', 'unk_token'].map(
    (name) => [name, readTokenText(tokenizerConfig[name])] as const,
  );
  return { ...Object.fromEntries(tokens.filter(([, text]) => text !== undefined)), ...templateVariables };
}

/**
 * Creates the chat tokenizer of a model. Throws BackboneError `bad_model_files` if the tokenizer or template cannot be
 * used, or if there is no end-of-turn token.
 */
export function createChatTokenizer(options: ChatTokenizerOptions): ChatTokenizer {
  const tokenizer = orBadFile('tokenizer.json', () =>
    createHfTokenizer(options.tokenizerJson, options.tokenizerConfig),
  );
  const sources = readTemplates(options);
  const stopIds = readStopIds(options, sources.sourceWithTools ?? sources.source, tokenizer);
  const variables = readVariables(options);
  const { onNotice = () => undefined, toolCalls: reading = 'strict' } = options;
  const prompt = orBadFile('The chat template', () => readToolPrompt(sources, options, variables));
  const watch = createToolWatch({ onNotice, notice: prompt.notice });
  const shared = { ...toSources(prompt), ...toReplyFormat(prompt, options), stopIds, watch };
  const { isRefused } = prompt;
  const createTemplate = (own: JsonObject): ChatTemplate =>
    orBadFile('The chat template', () =>
      createChatTemplate({ ...shared, variables: own, isRefused, isLenient: reading === 'lenient' }),
    );
  const own = { countCallForms: () => watch.forms, ...(prompt.isChanged && { changedTemplate: prompt.source }) };
  return withTemplate(tokenizer, createTemplate, { variables, own });
}

type Sources = Pick<ToolPrompt, 'source' | 'sourceWithTools'>;

function toSources({ source, sourceWithTools }: ToolPrompt): Sources {
  return { source, ...(sourceWithTools !== undefined && { sourceWithTools }) };
}

function readToolPrompt(sources: Sources, options: ChatTokenizerOptions, variables: JsonObject): ToolPrompt {
  const given = options.replyFormat?.toolCalls;
  return chooseToolPrompt({
    ...sources,
    setting: options.tools ?? 'auto',
    family: typeof given === 'object' ? given.name : given,
    compile: (source) => {
      const render = compileTemplate(source, variables);
      return (messages, renderOptions) => renderMessages(render, messages, renderOptions, undefined);
    },
  });
}

/**
 * Returns the format of replies. Calls have the format in which the tools were written, unless the configuration names
 * a format.
 */
function toReplyFormat({ isHermes }: ToolPrompt, { replyFormat = {} }: ChatTokenizerOptions) {
  const toolCalls = replyFormat.toolCalls ?? (isHermes ? 'hermes' : undefined);
  return { replyFormat: { ...replyFormat, ...(toolCalls !== undefined && { toolCalls }) } };
}

/** A chat tokenizer keeps at most this number of templates with other variables. */
const maxVariants = 64;

type TemplateParts = {
  readonly variables: JsonObject;
  readonly own: Pick<ChatTokenizer, 'changedTemplate' | 'countCallForms'>;
};

function withTemplate(
  tokenizer: Tokenizer,
  createTemplate: (variables: JsonObject) => ChatTemplate,
  { variables, own }: TemplateParts,
): ChatTokenizer {
  const variants = new Map<string, ChatTokenizer>();
  return {
    ...own,
    tokenizer,
    template: createTemplate(variables),
    withVariables(more) {
      const key = JSON.stringify(Object.entries(more).toSorted(([left], [right]) => (left < right ? -1 : 1)));
      const found =
        variants.get(key) ?? withTemplate(tokenizer, createTemplate, { variables: { ...variables, ...more }, own });
      variants.delete(key);
      variants.set(key, found);
      const [oldest] = variants.keys();
      if (variants.size > maxVariants && oldest !== undefined) variants.delete(oldest);
      return found;
    },
  };
}
