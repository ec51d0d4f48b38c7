/**
 * Parley, a made-up agent framework in sixty lines. It calls a conversation a scene, a message a line and a tool a
 * prop. It behaves like real frameworks: it parses what the model wrote for a prop and prints it again, and it keeps
 * `extras` that it does not understand.
 */
export type Line = {
  readonly who: 'director' | 'guest' | 'actor' | 'prop';
  readonly words: string;
  /** A call of a prop by the actor. */
  readonly uses?: readonly Use[];
  /** The call whose result this line is. */
  readonly ticket?: string;
  /** Parley keeps these values and returns them unchanged. */
  readonly extras?: Readonly<Record<string, unknown>>;
};
export type Use = { readonly ticket: string; readonly prop: string; readonly input: Readonly<Record<string, unknown>> };

export type Prop = {
  readonly name: string;
  readonly about: string;
  readonly shape: Readonly<Record<string, unknown>>;
  readonly use: (input: Use['input']) => string;
};

/** The options of a scene. */
export type Stage = {
  readonly props: readonly Prop[];
  /** Temperature. */
  readonly warmth?: number;
  /** Limit of tokens. */
  readonly longest?: number;
  /** Aborts when nobody needs the answer any more. */
  readonly curtain?: AbortSignal;
  readonly onWords?: (words: string) => void;
};

/** Parley's model type. An adapter has to create one. */
export interface Actor {
  act(lines: readonly Line[], stage: Stage): Promise<Line>;
}

/** Parley's agent: lets the actor act until it calls no more props. */
export async function playScene(actor: Actor, opening: readonly Line[], stage: Stage): Promise<readonly Line[]> {
  const lines = [...opening];
  for (let turn = 0; turn < 10; turn++) {
    const line = remember(await actor.act(lines, stage));
    lines.push(line);
    if (line.uses === undefined || line.uses.length === 0) return lines;
    for (const use of line.uses) lines.push({ who: 'prop', ticket: use.ticket, words: outcomeOf(use, stage.props) });
  }
  return lines;
}

/** Scenes are kept as JSON. */
export function remember(line: Line): Line {
  return JSON.parse(JSON.stringify(line)) as Line;
}

function outcomeOf({ prop, input }: Use, props: readonly Prop[]): string {
  return props.find(({ name }) => name === prop)?.use(input) ?? `There is no ${prop} on this stage.`;
}
