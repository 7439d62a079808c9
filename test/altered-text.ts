// Alters a text that is not JSON: a line, or a tag of XML.
import type { SeededRandom } from '#simulator/seeded-random.ts'
import type { ValueAlteration } from './altered-answer.ts'

/** Undefined if this kind does not apply, or changes nothing. */
export function alterText(kind: ValueAlteration, draws: SeededRandom, text: string): string | undefined {
  const lines = text.split(/(?<=[\n>])/)
  const at = draws.whole(0, lines.length)
  const line = lines[at] as string
  const altered = alterLine(kind, draws, line, lines[at + 1] ?? '')
  if (altered === undefined) return undefined
  const result = [...lines.slice(0, at), altered, ...lines.slice(at + (kind === 'swapped with a neighbour' ? 2 : 1))]
  const after = result.join('')
  return after === text ? undefined : after
}

function alterLine(kind: ValueAlteration, draws: SeededRandom, line: string, next: string): string | undefined {
  switch (kind) {
    case 'field dropped':
    case 'truncated list':
      return ''
    case 'null':
      return `null${line.slice(-1)}`
    case 'off by one':
      return line.replace(/\d+/, (digits) => String(BigInt(digits) + 1n))
    case 'changed character':
      return changeCharacter(draws, line)
    case 'swapped with a neighbour':
      return next + line
    case 'sign flipped':
      return line.replace(/\d+/, '-$&')
    case 'repeated element':
      return line + line
    case 'unknown field':
      return `added: field\n${line}`
    case 'scientific notation':
      return line.replace(/\d+(\.\d+)?/, (number) => Number(number).toExponential())
    case 'very large':
      return line.repeat(2000).slice(0, 200_000)
    case 'empty value':
      return line.slice(-1)
    default:
      return undefined
  }
}

export function changeCharacter(draws: SeededRandom, text: string): string {
  if (text === '') return text
  const at = draws.whole(/^0x./.test(text) ? 2 : 0, text.length)
  const char = text[at] as string
  const choices = /^0x[0-9a-f]+$/i.test(text) ? '0123456789abcdef' : /\d/.test(char) ? '0123456789' : 'abcxyz'
  const others = [...choices].filter((choice) => choice !== char)
  return text.slice(0, at) + draws.pick(others) + text.slice(at + 1)
}
