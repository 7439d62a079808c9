export function watchParent(action: () => void): () => void
