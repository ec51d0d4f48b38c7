import path from 'node:path';

/**
 * A room is a package, or a folder at the root that is not a package (`test`, `tutorial`). A package is imported
 * through its entry points, by name; a relative path never leaves a package. Rooms without a package import one another
 * by path, or by `#room/...`, as the arrows allow.
 */
export type Rooms = {
  readonly packages: readonly {
    readonly dir: string;
    readonly name: string;
    readonly doors: Readonly<Record<string, string>>;
  }[];
  /** Maps a package name to the packages that it may import. */
  readonly arrows: Readonly<Record<string, readonly string[]>>;
  readonly roomArrows: Readonly<Record<string, readonly string[]>>;
};

export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function roomOf(file: string, { packages }: Rooms): string {
  const [first = '', ...rest] = file.split('/');
  return packages.find(({ dir }) => file.startsWith(`${dir}/`))?.dir ?? (rest.length === 0 ? '.' : first);
}

/** Returns the room that a path leads to, or undefined for the name of a package. */
function roomByPath(file: string, specifier: string, rooms: Rooms): string | undefined {
  if (specifier.startsWith('#')) return roomOf(specifier.slice(1), rooms);
  if (!specifier.startsWith('.')) return undefined;
  return roomOf(path.posix.join(path.posix.dirname(file), specifier), rooms);
}

/** Returns what is wrong with importing this from that file, or undefined if nothing is. */
export function findWrongImport(file: string, specifier: string, rooms: Rooms): string | undefined {
  const room = roomOf(file, rooms);
  const importer = rooms.packages.find(({ dir }) => dir === room);
  const byPath = roomByPath(file, specifier, rooms);
  if (byPath !== undefined) {
    if (byPath === room) return undefined;
    if (importer === undefined && rooms.roomArrows[room]?.includes(byPath) === true) return undefined;
    return `${file}: "${specifier}" leads from ${room} to ${byPath}, which .ci/arrows.mjs does not allow`;
  }
  const imported = rooms.packages.find(({ name }) => name === packageOf(specifier));
  if (imported === undefined || imported === importer) return undefined;
  if (!(specifier in imported.doors)) return `${file}: "${specifier}" is not an entry point of ${imported.dir}`;
  if (importer === undefined || rooms.arrows[importer.name]?.includes(imported.name) === true) return undefined;
  return `${file}: "${specifier}" is not below ${room}`;
}
