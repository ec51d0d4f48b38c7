import type { Entry, ToolCall, ToolSpec } from '@agentjet/core';
import type { ReplyBuilder } from '../reply/reply-builder.js';
import type { ReplySection } from '../reply/reply-section.js';

/** How the models of one family write tool calls: a registration, as backbones and readers are, without settings. */
export type TemplateFamily<Name extends string = string> = Pick<Entry, 'summary'> & {
  readonly name: Name;
  /** Whether a chat template (its Jinja source) is of this family. The families of a list are asked in turn. */
  recognizes(source: string): boolean;
  /** Tokens that end a turn, for models whose files name another end. */
  readonly turnEnds: readonly string[];
  /** Reads an answer, what comes after the thinking. `tools` are those of the request, whose schemas may say how arguments are read. */
  createAnswer(builder: ReplyBuilder, options?: { readonly tools?: readonly ToolSpec[] }): ReplySection;
  /** Several calls in one answer, as the model writes them: for a template that refuses to print them. Absent if no template of the family does. */
  writeCalls?(calls: readonly Pick<ToolCall, 'name' | 'arguments'>[]): string;
  /** Text before a call's JSON, and the key of its arguments; absent if the family has no JSON calls. */
  readonly callForm?: { readonly open: string; readonly argumentsKey: string };
  /** The beginning of a call that is not JSON: up to the name or, if that is given, up to the arguments. Absent if `callForm` says it. */
  openCall?(name: string | undefined): string;
};

/** A family that `model.template_family:` may name. */
export function defineTemplateFamily<const Name extends string>(family: TemplateFamily<Name>): TemplateFamily<Name> {
  return family;
}
