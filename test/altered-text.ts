// Alters a text that is not JSON: a line, or a tag of XML.
import type { SeededRandom } from '#simulator/seeded-random.ts'
import type { ValueAlteration } from './altered-answer.ts'

/** Undefined if this kind does not apply, or changes nothing. */
export function alterText(kind: ValueAlteration, draws: SeededRandom, text: string): string | undefined {
  const pieces = text.split(/(?<=[\n>])/)
  const at = draws.whole(0, pieces.length)
  const piece = pieces[at] as string
  const altered = alterPiece(kind, draws, piece, pieces[at + 1] ?? '')
  if (altered === undefined) return undefined
  const result = [...pieces.slice(0, at), altered, ...pieces.slice(at + (kind === 'swapped with a neighbour' ? 2 : 1))]
  const after = result.join('')
  return after === text ? undefined : after
}

function alterPiece(kind: ValueAlteration, draws: SeededRandom, piece: string, next: string): string | undefined {
  switch (kind) {
    case 'field dropped':
    case 'truncated list':
      return ''
    case 'null':
      return `null${piece.slice(-1)}`
    case 'off by one':
      return piece.replace(/\d+/, (digits) => String(BigInt(digits) + 1n))
    case 'changed character':
      return changeCharacter(draws, piece)
    case 'swapped with a neighbour':
      return next + piece
    case 'sign flipped':
      return piece.replace(/\d+/, '-$&')
    case 'repeated element':
      return piece + piece
    case 'unknown field':
      return `added: field\n${piece}`
    case 'scientific notation':
      return piece.replace(/\d+(\.\d+)?/, (number) => Number(number).toExponential())
    case 'very large':
      return piece.repeat(2000).slice(0, 200_000)
    case 'empty value':
      return piece.slice(-1)
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
