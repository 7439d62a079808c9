// Types of parent.js, which is JavaScript because the launcher loads it on old versions of Node.
export function watchParent(action: () => void): () => void
