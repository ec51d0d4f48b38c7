import type { ChatDelta, JsonObject } from '@agentjet/core';
import type { ChatTemplate, ParseOptions, AnswerText } from './contract.js';
import { detectReplyFormat, type ReplyFormatOptions, type ReplyFormat } from './reply/reply-format.js';
import { createReplyStreamParser, parseReply, type ReplyReading } from './reply/reply-stream-parser.js';
import { RecentTexts } from './recent-texts.js';
import { compileTemplate, type Render, renderMessages } from './render-messages.js';
import { findTextKind } from './reply/text-kind.js';
import { reasoningTags } from './reply/reasoning-section.js';
import { findThinkingSwitch, listVariables } from './template-variables.js';
import { refuseTools } from './tools/tool-prompt.js';
import type { ToolWatch } from './tools/tool-watch.js';
import { findUnreadForm } from './tools/unread-form.js';
import { none } from './families/none/registration.js';

export type ChatTemplateOptions = {
  /**
   * The Jinja source, for conversations with or without tools. If the model has a separate source for conversations
   * with tools, `sourceWithTools` contains it.
   */
  readonly source: string;
  readonly sourceWithTools?: string;
  readonly stopIds: readonly number[];
  /** Variables for the template: bos_token, eos_token, enable_thinking, ... */
  readonly variables: JsonObject;
  /** The format of replies. If absent, it is detected from the template. */
  readonly replyFormat?: ReplyFormatOptions;
  /** Whether requests with tools are refused. */
  readonly isRefused: boolean;
  /** Whether calls without their tags are also parsed. */
  readonly isLenient: boolean;
  /** Called with prompts that have tools, and with the answers to them. */
  readonly watch: ToolWatch;
};

/** The maximum number of characters of the messages whose renderings are kept. */
const mostKept = 2 * 2 ** 20;

function renderGenerationPrompt(render: Render): string {
  try {
    return render([{ role: 'user', content: 'x' }], { addGenerationPrompt: true });
  } catch {
    return ''; // The template refuses a single user message, so its replies cannot be detected from it.
  }
}

export function createChatTemplate(options: ChatTemplateOptions): ChatTemplate {
  const { isLenient, watch } = options;
  const plain = compileTemplate(options.source, options.variables);
  const withTools =
    options.sourceWithTools === undefined ? plain : compileTemplate(options.sourceWithTools, options.variables);
  const source = options.sourceWithTools ?? options.source;
  const variables = new Set([options.source, source].flatMap((each) => [...listVariables(each)]));
  const thinkingOff = findThinkingSwitch(variables);
  const format = detectReplyFormat(source, renderGenerationPrompt(plain), options.replyFormat);
  const recent = new RecentTexts<string>(mostKept);
  const print: ChatTemplate['render'] = (messages, renderOptions) => {
    const { tools = [], addGenerationPrompt } = renderOptions;
    const render = tools.length > 0 ? withTools : plain;
    // The episodes of a group begin with the same messages.
    return recent.get(JSON.stringify([messages, tools, addGenerationPrompt]), () =>
      renderMessages(render, messages, renderOptions, format.toolCalls.writeCalls),
    );
  };
  let unread: { readonly form: ReturnType<typeof findUnreadForm> } | undefined;
  const findUnread = () => (unread ??= { form: findUnreadForm(print, format) }).form;
  const toReading = (tools: ParseOptions['tools'] = []): ReplyReading =>
    tools.length === 0 ? {} : { tools, isLenient, unread: findUnread() };
  return {
    render: (messages, renderOptions) => {
      const { tools = [] } = renderOptions;
      if (options.isRefused) refuseTools(messages, tools);
      if (tools.length > 0) watch.onPrompt(findUnread);
      return print(messages, renderOptions);
    },
    parse: (text, { tools, isSampled = false } = {}) => {
      const reply = parseReply(format, text, toReading(tools));
      if (isSampled) watch.onAnswer(reply);
      return reply;
    },
    createStreamParser: (mintId, { tools } = {}) => createReplyStreamParser(format, mintId, toReading(tools)),
    ...(format.reasoning !== 'none' && { createAnswerText: () => createAnswerText(format) }),
    variables,
    ...(thinkingOff !== undefined && format.reasoning !== 'none' && { thinkingOff }),
    stopIds: options.stopIds,
    callOpening: (name) => (options.isRefused ? undefined : toCallOpening(format, name)),
    textKind: findTextKind,
    reasoningTags,
  };
}

/**
 * Returns the opening of a tool call. It ends after a colon, before the space, because the model's tokens contain the
 * space before a value.
 */
function toCallOpening({ toolCalls, reasoning }: ReplyFormat, name: string | undefined): string | undefined {
  const closed = reasoning === 'open' ? '\n</think>\n\n' : '';
  if (toolCalls.openCall !== undefined) return closed + toolCalls.openCall(name);
  const form = toolCalls.callForm;
  if (form === undefined) return undefined;
  return `${closed}${form.open}{"name":${name === undefined ? '' : ` ${JSON.stringify(name)}, "${form.argumentsKey}":`}`;
}

/** Parses a reply whose calls are treated as text, so that everything except thinking is content. */
function createAnswerText(format: ReplyFormat): AnswerText {
  const parser = createReplyStreamParser({ ...format, toolCalls: none }, String);
  return { push: (text) => textOfDeltas(parser.push(text)), flush: () => textOfDeltas(parser.flush().deltas) };
}

/** Joins the texts of the deltas that belong to the content. */
export function textOfDeltas(deltas: readonly ChatDelta[]): string {
  return deltas.map((delta) => (delta.type === 'content' ? delta.text : '')).join('');
}
