import type { ChatRequest, Random } from '@agentjet/core';

/** What a scripted model knows about the task of its episode. */
export type Scene = {
  readonly question: string;
  /** The expected answer. Undefined if the task has none. */
  readonly answer: string | undefined;
  /** The expected answers of all tasks, with repetitions. */
  readonly answers: readonly string[];
  readonly random: Random;
};

/** What a scripted model writes in one call. */
export type Line = {
  readonly text: string;
  readonly thoughts?: string;
  readonly calls?: readonly ScriptedCall[];
};

/** A tool call. Without arguments, the scripted model fills the tool's schema with the text of the line. */
export type ScriptedCall = { readonly name: string; readonly arguments?: string };

/** Writes the answer to a call. `turn` counts the calls of the episode from 0. */
export type Script = (request: ChatRequest, turn: number) => Line;

/** What a way of play needs: an expected answer, or a part of the agent's requests. */
export type PlayNeed = 'answer' | 'tools' | 'examples' | 'system' | 'tags' | 'options';

/** One way to play a strategy. */
export type Way = {
  readonly name: string;
  readonly needs?: readonly PlayNeed[];
  /** True for the play that writes nothing. */
  readonly isEmpty?: boolean;
  /** True if the way gives the answer in another spelling, which not every answer has. */
  readonly isSpelling?: boolean;
  /** Called once for each episode. */
  readonly open: (scene: Scene) => Script;
};

/**
 * `unsolved` solves nothing and should earn nothing. `chance` is random or empty play, which the others are compared
 * with. `right` gives the right answer.
 */
export type StrategyRole = 'unsolved' | 'chance' | 'right';

export type Strategy = {
  readonly name: string;
  /** What the model does, as the end of "a model that ...". */
  readonly summary: string;
  readonly role: StrategyRole;
  readonly ways: readonly Way[];
};

/** A way that writes the same text in every call. */
export function says(name: string, write: (scene: Scene) => string, needs: readonly PlayNeed[] = []): Way {
  return {
    name,
    needs,
    open: (scene) => {
      const text = write(scene);
      return () => ({ text });
    },
  };
}

/** A way that writes text that depends on the request, such as on the tags that it names. */
export function answers(
  name: string,
  write: (request: ChatRequest, scene: Scene) => string,
  needs: readonly PlayNeed[] = [],
): Way {
  return { name, needs, open: (scene) => (request) => ({ text: write(request, scene) }) };
}

/** A way that writes the same line in every call, such as thoughts with an answer. */
export function writes(name: string, write: (scene: Scene) => Line, needs: readonly PlayNeed[] = []): Way {
  return {
    name,
    needs,
    open: (scene) => {
      const line = write(scene);
      return () => line;
    },
  };
}
