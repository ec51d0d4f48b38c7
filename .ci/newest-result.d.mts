export function findNewestResult(file: string, root: string): string;
