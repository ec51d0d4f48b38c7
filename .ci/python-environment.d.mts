export function pythonOf(folder: string): string;
export function isInstalled(folder: string): boolean;
export function makeEnvironment(folder: string): string | undefined;
