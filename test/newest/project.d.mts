/** Folders of our packages that are put into the project. */
export const ours: readonly string[];
/** Files and folders of the repository that are copied into it. */
export const suites: readonly string[];
