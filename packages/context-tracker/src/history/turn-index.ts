import type { AssistantMessage } from '@agentjet/core';
import type { GeneratedTurn } from './seen-state.js';
import { squash } from './respelling.js';

/** Finds turns of an episode by their texts, and by the tool-call ids that we minted for them. */
export class TurnIndex {
  readonly #byCallId = new Map<string, GeneratedTurn>();
  readonly #byText = new Map<string, GeneratedTurn[]>();

  add(turn: GeneratedTurn): void {
    for (const { id } of turn.message.toolCalls ?? []) this.#byCallId.set(id, turn);
    const key = squash(turn.message.content);
    if (key === '') return;
    const sameText = this.#byText.get(key);
    if (sameText === undefined) this.#byText.set(key, [turn]);
    else sameText.push(turn);
  }

  ofCallId(id: string): GeneratedTurn | undefined {
    return this.#byCallId.get(id);
  }

  /**
   * Returns the turn that minted the ids of all of the message's calls, or undefined if they belong to several turns or
   * none.
   */
  ofCalls({ toolCalls = [] }: AssistantMessage): GeneratedTurn | undefined {
    const [first] = toolCalls;
    const turn = first === undefined ? undefined : this.#byCallId.get(first.id);
    return toolCalls.every(({ id }) => this.#byCallId.get(id) === turn) ? turn : undefined;
  }

  /** Returns turns with this text, ignoring whitespace, in the order of their calls. */
  ofText(text: string): readonly GeneratedTurn[] {
    return this.#byText.get(squash(text)) ?? [];
  }
}
