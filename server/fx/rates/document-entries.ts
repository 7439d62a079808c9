// Finds the entries of a JSON document, and reads values at the paths of the settings. Pure.
import { valueAtPath } from '#core/value-at-path.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { type DocumentPath, keyPath } from '#runtime/settings/fx-documents.ts'

const entriesMax = 1000

interface Entry {
  /** Its name, if the entries are members of an object. */
  readonly key?: string
  readonly value: unknown
}

/** Reads a value of an entry, or of the whole document. */
export type ReadPath = (path: DocumentPath) => unknown

/** A reader for each entry. Throws if there are no entries at the configured path. */
export function openEntries(document: unknown, settings: FxSource['document']): readonly ReadPath[] {
  const entries = findEntries(document, settings)
  if (entries.length > entriesMax) throw new Error(`the document has more than ${entriesMax} entries`)
  return entries.map((entry) => (path) => readPath(document, entry, path))
}

function findEntries(document: unknown, { list: path, ...others }: FxSource['document']): readonly Entry[] {
  const list = valueAtPath(document, namesOf(path).names)
  if (typeof list !== 'object' || list === null)
    throw new Error(`there is no list at "${pathText(path)}" in the document`)
  if (!Object.values(others).includes(keyPath)) return [list].flat().map((value: unknown) => ({ value }))
  if (Array.isArray(list))
    throw new Error(`"${pathText(path)}" in the document is a list, so its entries have no names; check ${keyPath}`)
  return Object.entries(list).map(([key, value]) => ({ key, value }))
}

function readPath(document: unknown, { key, value }: Entry, path: DocumentPath): unknown {
  if (path === keyPath) return key
  const { isFromTop, names } = namesOf(path)
  return valueAtPath(isFromTop ? document : value, names)
}

/** A path that begins with `$` is one of the whole document. */
function namesOf(path: DocumentPath): { readonly isFromTop: boolean; readonly names: readonly string[] } {
  const names = typeof path !== 'string' ? path : path === '' ? [] : path.split('.')
  const isFromTop = names.length > 1 && names[0] === '$'
  return { isFromTop, names: isFromTop ? names.slice(1) : names }
}

const pathText = (path: DocumentPath): string => (typeof path === 'string' ? path : path.join(' → '))

/** `price.price` → `price.expo` */
export const siblingPath = (path: DocumentPath, name: string): DocumentPath => [
  ...(typeof path === 'string' ? path.split('.') : path).slice(0, -1),
  name,
]
