// Builds objects whose keys are a list of names.

/** An object with a value for each of the keys. */
export const recordFrom = <K extends string, V>(keys: readonly K[], of: (key: K, at: number) => V): Record<K, V> =>
  Object.fromEntries(keys.map((key, at) => [key, of(key, at)])) as Record<K, V>
