// Reads the JSON of the Beacon API, in which every number is text. What is not of the expected form is an error that
// names the field: a node that answers nonsense must not become a wrong rating.
import { toFigure } from './consensus.ts'

export class InvalidResponseError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'AnswerError'
  }
}

export type Fields = Readonly<Record<string, unknown>>

export function readFields(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidResponseError(`${name} is no object`)
  return value as Fields
}

export function readList(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new InvalidResponseError(`${name} is no list`)
  return value
}

const numberPattern = /^\d{1,20}$/

/** Beyond 2^53 (far-future epochs): Infinity. */
export function figureOf(value: unknown, name: string): number {
  if (typeof value !== 'string' || !numberPattern.test(value))
    throw new InvalidResponseError(`${name} is no number in text`)
  return value.length < 16 ? Number(value) : toFigure(BigInt(value))
}

const hexShape = /^0x(?:[0-9a-f]{2})*$/i

export function readBytes(value: unknown, name: string): Uint8Array {
  if (typeof value !== 'string' || !hexShape.test(value))
    throw new InvalidResponseError(`${name} is no hexadecimal text`)
  return Buffer.from(value.slice(2), 'hex')
}

export function hexOf(value: unknown, name: string, bytes: number): string {
  if (typeof value !== 'string' || value.length !== 2 + bytes * 2 || !hexShape.test(value)) {
    throw new InvalidResponseError(`${name} is no hexadecimal text of ${bytes} bytes`)
  }
  return value.toLowerCase()
}
