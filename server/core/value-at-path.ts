// Finds a value inside a document by a path that a configuration names: feeds put things in different places.

/** The value at a path of names separated by points; empty: the value itself. Inherited names are not followed. */
export function valueAtPath(value: unknown, path: string): unknown {
  if (path === '') return value
  return path
    .split('.')
    .reduce<unknown>(
      (held, name) =>
        typeof held === 'object' && held !== null && Object.hasOwn(held, name)
          ? (held as Record<string, unknown>)[name]
          : undefined,
      value,
    )
}
