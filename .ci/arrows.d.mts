/** Package name to the names of the packages that it may import, lowest package first. */
export const arrows: Readonly<Record<string, readonly string[]>>;
/** Folder to the folders that it may import from; those that hold no package. */
export const roomArrows: Readonly<Record<string, readonly string[]>>;
