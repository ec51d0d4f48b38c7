/**
 * The cells of the release table: a tutorial on a backbone. Adding a tutorial to release tracking is one entry here.
 * `minutes` is what three seeds take on two cores; it only orders the cells.
 */
export type Cell = {
  readonly tutorial: string;
  readonly backbone: 'onnx' | 'torch';
  readonly conf: string;
  readonly overrides: readonly string[];
  readonly model: string;
  readonly minutes: number;
};

export const cells: readonly Cell[] = [
  {
    tutorial: 'frozen-lake',
    backbone: 'onnx',
    conf: 'tutorial/01-frozen-lake/frozen_lake.yaml',
    overrides: [],
    model: 'nano',
    minutes: 4,
  },
  {
    tutorial: 'math-agent',
    backbone: 'onnx',
    conf: 'tutorial/02-math-agent/math_agent.yaml',
    overrides: [],
    model: 'nano',
    minutes: 6,
  },
  {
    tutorial: 'werewolves',
    backbone: 'onnx',
    conf: 'tutorial/03-werewolves/werewolves.yaml',
    overrides: [],
    model: 'nano',
    minutes: 9,
  },
  {
    tutorial: 'langgraph-graph',
    backbone: 'onnx',
    conf: 'tutorial/06-langgraph-graph/market.yaml',
    overrides: [],
    model: 'nano',
    minutes: 5,
  },
];

export function cellName({ tutorial, backbone }: Pick<Cell, 'tutorial' | 'backbone'>): string {
  return `${tutorial}.${backbone}`;
}

/** The cells that the command line asks for; all of them if it names none. Throws Error for a name that no cell has. */
export function chooseCells(wanted: {
  readonly only?: string | undefined;
  readonly backbone?: string | undefined;
  readonly cheapest?: boolean | undefined;
}): readonly Cell[] {
  const chosen = cells.filter(
    ({ tutorial, backbone }) =>
      (wanted.only === undefined || wanted.only === tutorial) &&
      (wanted.backbone === undefined || wanted.backbone === backbone),
  );
  if (chosen.length === 0)
    throw new Error(
      `No cell is ${wanted.only ?? 'any tutorial'} on ${wanted.backbone ?? 'any backbone'}. The cells are ${cells.map(cellName).join(', ')}.`,
    );
  return wanted.cheapest === true ? chosen.toSorted((a, b) => a.minutes - b.minutes).slice(0, 1) : chosen;
}
