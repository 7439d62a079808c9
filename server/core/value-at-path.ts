// Finds a value in a document by a path from the configuration, such as `data.items`.

/**
 * `path`: names separated by dots, or a list of names, which may contain dots. An empty path is the value itself. Inherited
 * properties are not followed.
 */
export function valueAtPath(value: unknown, path: string | readonly string[]): unknown {
  if (path === '') return value
  const names = typeof path === 'string' ? path.split('.') : path
  return names.reduce<unknown>(
    (node, name) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, name)
        ? (node as Record<string, unknown>)[name]
        : undefined,
    value,
  )
}
