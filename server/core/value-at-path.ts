// Finds a value in a document by a path from the configuration, such as `data.items`.

/** An empty path is the value itself. Inherited properties are not followed. */
export function valueAtPath(value: unknown, path: string): unknown {
  if (path === '') return value
  return path
    .split('.')
    .reduce<unknown>(
      (node, name) =>
        typeof node === 'object' && node !== null && Object.hasOwn(node, name)
          ? (node as Record<string, unknown>)[name]
          : undefined,
      value,
    )
}
