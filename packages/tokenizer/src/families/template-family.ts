import type { Entry, ToolCall, ToolSpec } from '@agentjet/core';
import type { ReplyBuilder } from '../reply/reply-builder.js';
import type { ReplySection } from '../reply/reply-section.js';

/**
 * Describes how the models of one family write tool calls. It is registered in the same way as a backbone or a reader,
 * but it has no settings.
 */
export type TemplateFamily<Name extends string = string> = Pick<Entry, 'summary'> & {
  readonly name: Name;
  /**
   * Whether a chat template (its Jinja source) belongs to this family. The first family of a list that returns true is
   * used.
   */
  recognizes(source: string): boolean;
  /** Tokens that end a turn. They are used if the model's files name another end. */
  readonly turnEnds: readonly string[];
  /** Parses the answer after the thinking. */
  createAnswer(builder: ReplyBuilder, options?: { readonly tools?: readonly ToolSpec[] }): ReplySection;
  /**
   * Writes several calls of one answer in the model's format. It is used if the template refuses to print several
   * calls. Absent if all templates of the family print them.
   */
  writeCalls?(calls: readonly Pick<ToolCall, 'name' | 'arguments'>[]): string;
  /** The text before a call's JSON, and the key of its arguments. Absent if the family has no JSON calls. */
  readonly callForm?: { readonly open: string; readonly argumentsKey: string };
  /**
   * Returns the beginning of a call that is not JSON: up to the name, or up to the arguments if the name is given.
   * Absent if `callForm` describes it.
   */
  openCall?(name: string | undefined): string;
};

/** Defines a family that `model.template_family:` may name. */
export function defineTemplateFamily<const Name extends string>(family: TemplateFamily<Name>): TemplateFamily<Name> {
  return family;
}
