// Indents JSON text without parsing it, so that integers beyond 2^53 keep their digits.
export function indentJson(text: string): string {
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
