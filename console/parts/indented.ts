// JSON made readable without reading it: no value is touched, so long integers keep their digits.

/** Line breaks and indents between the tokens. */
export function indented(text: string): string {
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g, (token) => {
    if (token === '{' || token === '[') {
      depth += 1
      return `${token}${line()}`
    }
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1)
      return `${line()}${token}`
    }
    if (token === ',') return `,${line()}`
    return token === ':' ? ': ' : token
  })
}
