// Splits texts into words for search.

/** Lower case, without accents, split at everything that is neither a letter nor a digit. */
export function splitWords(text: string): string[] {
  // Nearly all texts are ASCII, for which this is much faster.
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return (
    withoutAccents(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}

/** Compatibility forms such as ligatures and full-width letters become plain ones too. */
export const withoutAccents = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '')
