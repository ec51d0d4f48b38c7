import type { CallForms, ParsedReply } from '../contract.js';
import type { UnreadForm } from '../reply/reply-format.js';

/** Watches prompts with tools and the answers to them, and gives the user each notice once. */
export type ToolWatch = {
  /** Asked for the form of calls that nothing reads, before the first prompt with tools. */
  onPrompt(findUnread: () => UnreadForm | undefined): void;
  onAnswer(reply: ParsedReply): void;
  readonly forms: CallForms;
};

/** `model.tool_calls`. */
export type ToolCallsSetting = 'strict' | 'lenient';

export type ToolWatchOptions = {
  readonly onNotice: (message: string) => void;
  /** For the first prompt with tools. */
  readonly notice: string | undefined;
};

/** The number of answers with untagged calls, and none with tags, after which a notice is given. */
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
  return `The chat template of this model writes tool calls in a form that no family reads (${example}). Such calls stay text, and count as malformed_tool_calls. Set model.tools=system to have tools and calls in the form of Hermes, or name a family that reads them with model.template_family.`;
}

function untaggedNotice(numAnswers: number): string {
  return `All ${numAnswers} answers with tool calls so far are bare JSON, without the tags of the model's chat template, so they are not read as calls (they count as malformed_tool_calls). Set model.tool_calls=lenient to read them, or teach the tags with a few dozen calls and \`ajet sft\`.`;
}

/** Returns the `model.tool_calls` that fits a model with these answers: `strict` if most of its calls have tags, or if it made none. */
export function fittingToolCalls({ tagged, untagged }: CallForms): ToolCallsSetting {
  return untagged > tagged ? 'lenient' : 'strict';
}
