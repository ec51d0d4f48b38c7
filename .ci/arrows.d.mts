/** Package name to the names of the packages that it may import, lowest package first. */
export const arrows: Readonly<Record<string, readonly string[]>>;
