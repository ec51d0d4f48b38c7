/** A part of package-lock.json. */
export type LockedPackage = {
  readonly version?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
};

/** Every user on one of these platforms can install without a compiler. */
const platforms = ['darwin-arm64', 'linux-arm64', 'linux-x64', 'win32-x64'] as const;

/**
 * Returns a line for each native dependency that has no binary for a platform. A native package has its binaries in
 * packages for one platform each, or in itself: `ownBinaries` then lists the platforms of a package by its name.
 */
export function missingBinaries(
  locked: Readonly<Record<string, LockedPackage>>,
  ownBinaries: (name: string) => readonly string[],
): readonly string[] {
  return Object.entries(locked)
    .filter(([place, each]) => place.includes('node_modules/') && isInstalledByUsers(each))
    .flatMap(([place, each]) => {
      const name = place.replace(/^.*node_modules\//, '');
      const separate = platformsOf(each, locked);
      const isNative = separate.length > 0 || (each.hasInstallScript === true && each.optional !== true);
      const there = separate.length > 0 ? separate : isNative ? ownBinaries(name) : platforms;
      return platforms
        .filter((platform) => !there.includes(platform))
        .map((platform) => `${name}@${each.version} has no binary for ${platform}`);
    });
}

const isInstalledByUsers = ({ dev, devOptional, link }: LockedPackage): boolean =>
  dev !== true && devOptional !== true && link !== true;

/** Returns the platforms of those optional dependencies that are for one platform. */
function platformsOf(
  { optionalDependencies = {} }: LockedPackage,
  locked: Readonly<Record<string, LockedPackage>>,
): readonly string[] {
  return Object.keys(optionalDependencies).flatMap((name) => {
    const { os = [], cpu = [] } = locked[`node_modules/${name}`] ?? {};
    return os.flatMap((system) => cpu.map((processor) => `${system}-${processor}`));
  });
}
