import {
  ConfigError,
  Outage,
  parseJsonObject,
  toErrorMessage,
  type ToolCall,
  type ToolMessage,
  type ToolSpec,
} from '@agentjet/core';

/** The parsed arguments of the model. They are not checked against `parameters`. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** A function that the model may call. */
export type Tool = ToolSpec & {
  /** Its result is shown to the model: a string unchanged, anything else as JSON. */
  readonly execute: (args: ToolArguments, options: { readonly signal: AbortSignal | undefined }) => unknown;
};

/**
 * The tools of an agent. If a call fails, its result is an error message that the model can read. Two kinds of errors
 * are thrown: an Outage, after which the attempt is made again, and a ConfigError, which would repeat in every episode.
 */
export class Toolkit {
  readonly #tools = new Map<string, Tool>();

  constructor(tools: readonly Tool[] = []) {
    for (const tool of tools) this.register(tool);
  }

  /**
   * Adds a tool. Throws if the name is taken, because the model could not distinguish the two tools. Throws TypeError
   * if the tool cannot be called.
   */
  register(tool: Tool): this {
    if (typeof tool.name !== 'string' || typeof tool.execute !== 'function') {
      throw new TypeError(`${JSON.stringify(tool)} is not a tool. Pass { name, description, parameters, execute }.`);
    }
    if (this.#tools.has(tool.name)) {
      throw new Error(
        `A tool named "${tool.name}" is registered already. Remove it first, or give this one another name.`,
      );
    }
    this.#tools.set(tool.name, tool);
    return this;
  }

  remove(name: string): void {
    this.#tools.delete(name);
  }

  get specs(): readonly ToolSpec[] {
    return [...this.#tools.values()].map(({ execute: _execute, ...spec }) => spec);
  }

  /** Runs one call. Rejects if the signal aborts, and with an Outage or a ConfigError of the tool. */
  async call(call: ToolCall, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<ToolMessage> {
    const content = await this.#answer(call, options.signal);
    options.signal?.throwIfAborted();
    return { role: 'tool', content, toolCallId: call.id, name: call.name };
  }

  async #answer(call: ToolCall, signal: AbortSignal | undefined): Promise<string> {
    const tool = this.#tools.get(call.name);
    if (tool === undefined) {
      return `Error: there is no tool named "${call.name}". Tools: ${[...this.#tools.keys()].join(', ') || 'none'}.`;
    }
    const args = parseJsonObject(call.arguments);
    if (args === undefined) {
      return `Error: the arguments of "${call.name}" are not a JSON object: ${call.arguments}`;
    }
    try {
      return toText(await tool.execute(args, { signal }));
    } catch (error) {
      if (error instanceof Outage || error instanceof ConfigError) throw error;
      return `Error: ${toErrorMessage(error)}`;
    }
  }
}

function toText(result: unknown): string {
  return typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
}
