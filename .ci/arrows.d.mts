/** Maps a package name to the names of the packages that it may import, lowest package first. */
export const arrows: Readonly<Record<string, readonly string[]>>;
/** Maps a folder without a package to the folders that it may import from. */
export const roomArrows: Readonly<Record<string, readonly string[]>>;
