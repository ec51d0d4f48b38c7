type Dependencies = Readonly<Record<string, string>>;

export type Workspace = {
  /** Path relative to the root, with forward slashes: `packages/core`. */
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
  /** Maps an import specifier to its source: `{ '@agentjet/core': 'packages/core/src/index.ts' }`. */
  readonly doors: Readonly<Record<string, string>>;
  /** Names of our packages that its package.json lists. */
  readonly uses: readonly string[];
};

export const root: string;
export function workspaces(): readonly Workspace[];
export function withAllTheyUse(names: readonly string[]): readonly Workspace[];
