export function ownFiles(folder?: string): readonly string[];
