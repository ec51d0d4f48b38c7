type Dependencies = Readonly<Record<string, string>>;

export type Workspace = {
  /** Relative to the root, with forward slashes: `packages/core`. */
  readonly dir: string;
  readonly name: string;
  readonly manifest: {
    readonly description?: string;
    readonly exports: Readonly<Record<string, unknown>>;
    readonly files: readonly string[];
    readonly scripts: Readonly<Record<string, string>>;
    readonly dependencies?: Dependencies;
    readonly peerDependencies?: Dependencies;
    readonly optionalDependencies?: Dependencies;
    readonly devDependencies?: Dependencies;
  };
  /** What can be imported, and its source: `{ '@agentjet/core': 'packages/core/src/index.ts' }`. */
  readonly doors: Readonly<Record<string, string>>;
  /** The names of our packages that its package.json names. */
  readonly uses: readonly string[];
};

export const root: string;
export function workspaces(): readonly Workspace[];
export function withAllTheyUse(names: readonly string[]): readonly Workspace[];
