// Finds the end of a string in JSON text, for code that changes or reads JSON without losing bytes or digits.

/**
 * The position after the closing quote of the string that starts at `start`, or the end of the text. A regular expression
 * would keep a position for each escape, and exceed its stack in a string of some megabytes.
 */
export function endOfString(text: string, start: number): number {
  let quote = start
  let isEscaped: boolean
  do {
    quote = text.indexOf('"', quote + 1)
    if (quote < 0) return text.length
    let first = quote
    while (text[first - 1] === '\\') first -= 1
    isEscaped = (quote - first) % 2 === 1
  } while (isEscaped)
  return quote + 1
}
