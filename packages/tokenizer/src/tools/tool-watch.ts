import type { CallForms, ParsedReply } from '../contract.js';
import type { UnreadForm } from '../reply/reply-format.js';

/** Watches prompts with tools and the answers to them, and gives the user each notice once. */
export type ToolWatch = {
  /**
   * Call this before a prompt with tools. The first call runs `findUnread` to learn whether the template prints tool
   * calls in a format that no family parses.
   */
  onPrompt(findUnread: () => UnreadForm | undefined): void;
  onAnswer(reply: ParsedReply): void;
  readonly forms: CallForms;
};

/** The values of `model.tool_calls`. */
export type ToolCallsSetting = 'strict' | 'lenient';

export type ToolWatchOptions = {
  readonly onNotice: (message: string) => void;
  /** A notice that is given at the first prompt with tools. */
  readonly notice: string | undefined;
};

/** A notice is given after this number of answers with untagged calls, if no answer had a call with tags. */
const enough = 2;

export function createToolWatch({ onNotice, notice }: ToolWatchOptions): ToolWatch {
  const forms = { tagged: 0, untagged: 0 };
  let isBegun = false;
  let isTold = false;
  return {
    onPrompt(findUnread) {
      if (isBegun) return;
      isBegun = true;
      const unread = findUnread();
      if (notice !== undefined) onNotice(notice);
      if (unread !== undefined) onNotice(unreadNotice(unread));
    },
    onAnswer({ toolCalls, untaggedToolCalls = 0, written }) {
      if (untaggedToolCalls > 0 || written !== undefined) forms.untagged++;
      else if (toolCalls.length > 0) forms.tagged++;
      if (isTold || untaggedToolCalls === 0 || forms.tagged > 0 || forms.untagged < enough) return;
      isTold = true;
      onNotice(untaggedNotice(forms.untagged));
    },
    get forms() {
      return { ...forms };
    },
  };
}

function unreadNotice({ example }: UnreadForm): string {
  return `The chat template of this model writes tool calls in a format that no registered template family can parse (${example}). Such calls stay part of the answer's text, and count as malformed_tool_calls. Set model.tools=system, which writes tools and calls in the format of Hermes, or set model.template_family to a family of your own that parses this format.`;
}

function untaggedNotice(numAnswers: number): string {
  return `So far, all ${numAnswers} answers with tool calls were bare JSON, without the tags of the model's chat template. They were not parsed as calls, and count as malformed_tool_calls. Set model.tool_calls=lenient to parse such calls, or run \`ajet sft\` on a few dozen tool calls so that the model learns the tags.`;
}

/**
 * Returns the value of `model.tool_calls` that fits a model with these answers: `strict` if most answers have tags, or
 * if none has calls.
 */
export function fittingToolCalls({ tagged, untagged }: CallForms): ToolCallsSetting {
  return untagged > tagged ? 'lenient' : 'strict';
}
